// SPDX-License-Identifier: Apache-2.0

import Synchronization

/// TLS as the client has it. The first byte says what is tried.
enum TLSTarget {
    /// Cases share their clients, and with them the tickets: a case that fails in another thread would take those of this one.
    private static let turn = Mutex(())

    static func judge(_ input: [UInt8]) throws(Finding) {
        try turn.withLock { (_) throws(Finding) in try judgeAlone(input) }
    }

    private static func judgeAlone(_ input: [UInt8]) throws(Finding) {
        var source = ByteSource(input)
        let mode = source.next()
        switch mode & 3 {
        case 0: try TLSCase(mode, &source).judge()
        case 1: try RawRecordsCase(mode, &source).judge()
        case 2: try ChangedCertificateCase(mode, &source).judge()
        default: try WrittenCertificateCase(&source).judge()
        }
    }
}
