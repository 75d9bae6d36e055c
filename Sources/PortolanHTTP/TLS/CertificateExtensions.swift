// SPDX-License-Identifier: Apache-2.0

/// The extensions that decide for whom a certificate is.
///
/// RFC 5280 §4.2
struct CertificateExtensions {
    private(set) var dnsNames: [String] = []
    private(set) var addresses: [[UInt8]] = []
    private(set) var isForServers = true

    // In DER, without tag and length: 2.5.29.17, 2.5.29.37, 1.3.6.1.5.5.7.3.1 and 2.5.29.37.0.
    private static let alternativeNames: [UInt8] = [0x55, 0x1D, 0x11]
    private static let extendedKeyUsage: [UInt8] = [0x55, 0x1D, 0x25]
    private static let serverAuthentication: [UInt8] = [0x2B, 0x06, 0x01, 0x05, 0x05, 0x07, 0x03, 0x01]
    private static let anyUsage: [UInt8] = [0x55, 0x1D, 0x25, 0x00]

    /// - Parameter element: what carries the list; `nil` where the certificate has none.
    init(_ element: DERReader.Element?) throws(DERReader.SyntaxError) {
        guard let element else { return }
        var wrapper = DERReader(element)
        var list = DERReader(try wrapper.next(.derSequence))
        var seen: Set<ArraySlice<UInt8>> = []
        while !list.isAtEnd {
            var one = DERReader(try list.next(.derSequence))
            let identifier = try one.next(.derObjectIdentifier).content
            _ = try one.next(ifTagged: .derBoolean)  // critical
            let value = try one.next(.derOctetString)
            // Two of the same could say different things to different readers (RFC 5280 §4.2).
            guard seen.insert(identifier).inserted else { throw DERReader.SyntaxError() }
            if identifier.elementsEqual(Self.alternativeNames) { try readNames(value) }
            if identifier.elementsEqual(Self.extendedKeyUsage) { try readUsage(value) }
        }
    }

    private mutating func readNames(_ value: DERReader.Element) throws(DERReader.SyntaxError) {
        var reader = DERReader(value)
        var list = DERReader(try reader.next(.derSequence))
        while !list.isAtEnd {
            let name = try list.next()
            switch name.tag {
            case .derContext(2):
                // Other bytes than ASCII name no host.
                if name.content.allSatisfy({ (0x21...0x7E).contains($0) }) {
                    dnsNames.append(String(decoding: name.content, as: UTF8.self))
                }
            case .derContext(7):
                if name.content.count == 4 || name.content.count == 16 { addresses.append(Array(name.content)) }
            default: break
            }
        }
    }

    private mutating func readUsage(_ value: DERReader.Element) throws(DERReader.SyntaxError) {
        var reader = DERReader(value)
        var list = DERReader(try reader.next(.derSequence))
        isForServers = false
        while !list.isAtEnd {
            let purpose = try list.next(.derObjectIdentifier).content
            if purpose.elementsEqual(Self.serverAuthentication) || purpose.elementsEqual(Self.anyUsage) { isForServers = true }
        }
    }
}
