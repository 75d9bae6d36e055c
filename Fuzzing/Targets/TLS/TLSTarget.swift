// SPDX-License-Identifier: Apache-2.0

/// TLS as the client has it. The first byte says what is tried.
enum TLSTarget {
    static func judge(_ input: [UInt8]) throws(Finding) {
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
