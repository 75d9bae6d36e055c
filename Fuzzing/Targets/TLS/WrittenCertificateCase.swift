// SPDX-License-Identifier: Apache-2.0

import Portolan
@_spi(Fuzzing) import PortolanTransport

/// Checks a certificate whose names an input describes one by one, so that the expected names are known.
///
/// The input has a byte for OpenSSL's verification result; the string type, length and bytes of the subject; a byte for
/// the dates of validity; a byte that, if 1, repeats the extension; and the kind, length and bytes of each alternative
/// name.
struct WrittenCertificateCase {
    private var der: [UInt8] = []
    private var dnsNames: [String] = []
    private var addresses: [[UInt8]] = []
    private let verificationResult: Int32

    init(_ source: inout ByteSource) {
        verificationResult = Int32(source.next(below: 100))
        let subject = Self.name(source.next(), Self.bytes(&source))
        var names: [[UInt8]] = []
        let (times, repeatsExtension) = (source.next(), source.next() == 1)
        while !source.isEmpty, names.count < 12 {
            let kind = source.next()
            switch kind & 7 {
            case 0: names.append(Self.element(0x87, add(address: Self.bytes(&source))))
            case 1: names.append(Self.element(0x82, add(name: Array(Self.patterns[Int(kind >> 3) % Self.patterns.count].utf8))))
            case 2: names.append(Self.element(0x86, Self.bytes(&source)))
            case 3: names.append(Self.element(0x81, Self.bytes(&source)))
            case 4: names.append(Self.element(0xA4, Self.name(12, Self.bytes(&source))))
            case 5: names.append(Self.element(0x87, add(address: kind & 8 == 0 ? [192, 0, 2, 1] : [UInt8](repeating: kind, count: 16))))
            default: names.append(Self.element(0x82, add(name: Self.bytes(&source))))
            }
        }
        let alternativeNames = Self.element(0x30, [0x06, 3, 0x55, 0x1D, 0x11] + Self.element(4, Self.element(0x30, names.flatMap(\.self))))
        let algorithm: [UInt8] = [0x30, 5, 0x06, 3, 0x2B, 0x65, 0x70]
        let key = Self.element(0x30, algorithm + Self.element(3, [0] + [UInt8](repeating: 7, count: 32)))
        let certificateBody =
            [0xA0, 3, 2, 1, 2, 2, 1, 9] + algorithm + Self.name(12, Array("An Issuer".utf8))
            + Self.element(0x30, Self.time(times & 15) + Self.time(times >> 4)) + subject + key
            + (names.isEmpty
                ? [] : Self.element(0xA3, Self.element(0x30, repeatsExtension ? alternativeNames + alternativeNames : alternativeNames)))
        der = Self.element(0x30, Self.element(0x30, certificateBody) + algorithm + Self.element(3, [UInt8](repeating: 0, count: 65)))
    }

    func check() throws(FuzzFinding) {
        try CertificateOracle.check(der, verificationResult: verificationResult)
        guard let certificate = ServerCertificate(der: der) else { return }
        try require(
            certificate.names.count == dnsNames.count + addresses.count, "it has \(certificate.names.count) names: \(certificate.names)")
        for host in CertificateOracle.hosts + dnsNames + dnsNames.map({ $0.replacing("*", with: "x") }) + dnsNames.map({ "x." + $0 }) {
            // Addresses are compared only with addresses.
            if host.contains(":") || host.utf8.allSatisfy({ (48...57).contains($0) || $0 == 46 }), !CertificateOracle.hosts.contains(host) {
                continue
            }
            let (isNamed, expected) = (CertificateReading.isNamed(host, by: certificate), isNamed(host))
            try require(isNamed == expected, "it is \(isNamed ? "" : "not ")valid for '\(host)'; its names are \(certificate.names)")
        }
    }

    /// Matches the name as in RFC 9525 §6.3, label by label.
    private func isNamed(_ host: String) -> Bool {
        switch host {
        case "192.0.2.1": return addresses.contains([192, 0, 2, 1])
        case "2001:db8::1": return addresses.contains([0x20, 1, 0x0D, 0xB8] + [UInt8](repeating: 0, count: 11) + [1])
        default: break
        }
        guard !host.isEmpty else { return false }
        var labels = Self.labels(host)
        if labels.last == "" { labels.removeLast() }
        guard labels != [""], !labels.isEmpty else { return false }
        return dnsNames.contains { name in
            let pattern = Self.labels(name)
            guard pattern.first == "*", pattern.count > 1 else { return pattern == labels }
            guard pattern.count >= 3, !pattern.dropFirst().contains(where: { $0.isEmpty || $0.contains("*") }) else {
                return false
            }
            return labels.first != "" && labels.count == pattern.count && labels.dropFirst().elementsEqual(pattern.dropFirst())
        }
    }

    private static func labels(_ name: String) -> [String] {
        name.lowercased().split(separator: ".", omittingEmptySubsequences: false).map(String.init)
    }

    // MARK: Writing

    private static let patterns = [
        "fuzz.example", "*.wild.example", "*.example", "*", "*.*.example", "a*.wild.example", "*.wild.example.", "", ".", "wild.example",
        "FUZZ.EXAMPLE", "fuzz.example.",
    ]

    private mutating func add(name: [UInt8]) -> [UInt8] {
        if name.allSatisfy({ (0x21...0x7E).contains($0) }) { dnsNames.append(String(decoding: name, as: UTF8.self)) }
        return name
    }

    private mutating func add(address: [UInt8]) -> [UInt8] {
        if address.count == 4 || address.count == 16 { addresses.append(address) }
        return address
    }

    private static func bytes(_ source: inout ByteSource) -> [UInt8] { (0..<(source.next() & 63)).map { _ in source.next() } }

    /// Writes a distinguished name that consists of a common name.
    private static func name(_ type: UInt8, _ text: [UInt8]) -> [UInt8] {
        element(0x30, element(0x31, element(0x30, [0x06, 3, 0x55, 0x04, 3] + element(type & 31, text))))
    }

    private static let times: [(type: UInt8, text: String)] = [
        (23, "200101000000Z"), (23, "491231235959Z"), (24, "20500101000000Z"), (24, "99991231235959Z"), (23, "200230000000Z"),
        (23, "2001010000Z"), (24, "20200101000000.5Z"), (24, "20200101000000+0100"), (23, ""), (12, "200101000000Z"), (23, "500101000000Z"),
        (24, "00000101000000Z"), (24, "20200101240000Z"), (23, "200101000060Z"), (24, "20200101000000"), (23, "20010100000\u{0}Z"),
    ]

    /// Writes a date of validity.
    private static func time(_ number: UInt8) -> [UInt8] { element(times[Int(number)].type, Array(times[Int(number)].text.utf8)) }

    /// Writes an element: X.690 §8.1.
    private static func element(_ tag: UInt8, _ content: [UInt8]) -> [UInt8] {
        switch content.count {
        case 0..<128: [tag, UInt8(content.count)] + content
        case 128..<256: [tag, 0x81, UInt8(content.count)] + content
        default: [tag, 0x82, UInt8(truncatingIfNeeded: content.count >> 8), UInt8(truncatingIfNeeded: content.count)] + content
        }
    }
}
