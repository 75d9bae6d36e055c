// SPDX-License-Identifier: Apache-2.0

import Synchronization

/// Tests the client side of TLS. The first byte of the input selects the kind of test.
enum TLSTarget {
    /// Cases share clients, and so their session tickets. Without the lock, a case would use the tickets of a case on
    /// another thread.
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
