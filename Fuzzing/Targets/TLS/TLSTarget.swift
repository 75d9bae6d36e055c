// SPDX-License-Identifier: Apache-2.0

import Synchronization

/// Tests TLS of the client. The first byte selects the kind of test.
enum TLSTarget {
    /// Cases share their clients with the tickets. A case on another thread would use the tickets of this one.
    private static let lock = Mutex(())

    static func check(_ input: [UInt8]) throws(FuzzFinding) {
        try lock.withLock { (_) throws(FuzzFinding) in try checkSerially(input) }
    }

    private static func checkSerially(_ input: [UInt8]) throws(FuzzFinding) {
        var source = ByteSource(input)
        let mode = source.next()
        switch mode & 3 {
        case 0: try TLSCase(mode, &source).check()
        case 1: try RawRecordsCase(mode, &source).check()
        case 2: try ChangedCertificateCase(mode, &source).check()
        default: try WrittenCertificateCase(&source).check()
        }
    }
}
