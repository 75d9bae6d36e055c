// SPDX-License-Identifier: Apache-2.0

import ServerSupport
import Testing

@testable import PortolanTransport

/// Parsing of certificates, which are untrusted input.
@Suite struct ServerCertificateTests {
    @Test func fieldsOfACertificateAreParsed() throws {
        let certificate = try #require(ServerCertificate(der: try certificates().der("good")))
        #expect(certificate.subject == "good.test")
        #expect(certificate.issuer == "Test Authority")
        #expect(certificate.names == ["localhost", "*.wild.test", "127.0.0.1", "::1"])
        #expect(certificate.notBefore.seconds == 1_577_836_800)
        #expect(certificate.notAfter.dateText == "2049-12-31")
        #expect(!certificate.isSelfIssued)
        #expect(certificate.publicKey == (try certificates().bytes("good.spki")))
        #expect(try #require(ServerCertificate(der: try certificates().der("self"))).isSelfIssued)
    }

    @Test(arguments: ["good", "self", "client-only", "nameless", "authority"])
    func truncatedCertificateIsRefused(name: String) throws {
        let der = try certificates().der(name)
        #expect(ServerCertificate(der: der) != nil)
        for count in 0..<der.count { #expect(ServerCertificate(der: Array(der.prefix(count))) == nil) }
        #expect(ServerCertificate(der: der + [0]) == nil)
    }

    /// Parsing can succeed or fail, but must not trap.
    @Test func changedBytesCauseNoTrap() throws {
        let der = try certificates().der("good")
        for index in der.indices {
            for value: UInt8 in [0x00, 0x01, 0x7F, 0x80, 0x82, 0x84, 0xFF, der[index] ^ 1] {
                var changedCertificate = der
                changedCertificate[index] = value
                guard let certificate = ServerCertificate(der: changedCertificate) else { continue }
                _ = CertificateProblem.error(
                    CertificateProblem.find(
                        in: [changedCertificate], for: ServerName(host: "127.0.0.1"), ChainError(code: 20, depth: 0), now: 0),
                    of: TLSPeer(host: "127.0.0.1", port: 443, description: "https://127.0.0.1"), chain: [certificate.der])
            }
        }
    }

    /// DER allows only the shortest form of a length (X.690 §8.1.3, §10.1).
    @Test(
        arguments: [
            [0x30], [0x30, 0x01], [0x30, 0x80], [0x30, 0x81], [0x30, 0x81, 0x7F], [0x30, 0x82, 0x00, 0x80], [0x30, 0x84, 0, 0, 0, 1, 0],
            [0x30, 0xFF], [0x1F, 0x01, 0x00], [0x30, 0x83, 0x7F, 0xFF, 0xFF], [0x30, 0x81, 0x01, 0x00], [0x30, 0x82, 0x00, 0x01, 0x00],
        ] as [[UInt8]])
    func lengthsAndTagsThatAreNotDERAreRefused(bytes: [UInt8]) {
        #expect(ServerCertificate(der: bytes) == nil)
    }

    @Test(
        arguments: [
            (0x17, "700101000000Z", 0), (0x17, "491231235959Z", 2_524_607_999), (0x17, "500101000000Z", -631_152_000),
            (0x18, "19700102000001Z", 86_401), (0x18, "20000229000000Z", 951_782_400), (0x18, "99991231235959Z", 253_402_300_799),
            (0x18, "00000101000000Z", -62_167_219_200), (0x17, "000301120000Z", 951_912_000),
        ] as [(UInt8, String, Int64)])
    func timesAreParsed(tag: UInt8, text: String, seconds: Int64) throws {
        #expect(try #require(Self.certificate(start: (tag, text))).notBefore.seconds == seconds)
    }

    @Test(
        arguments: [
            (0x17, ""), (0x17, "Z"), (0x17, "700101000000"), (0x17, "70010100000xZ"), (0x17, "701301000000Z"), (0x17, "700100000000Z"),
            (0x17, "700132000000Z"), (0x17, "700229000000Z"), (0x17, "700101240000Z"), (0x17, "700101006000Z"), (0x17, "700101000060Z"),
            (0x17, "19700101000000Z"), (0x18, "700101000000Z"), (0x18, "19000229000000Z"), (0x04, "700101000000Z"),
        ] as [(UInt8, String)])
    func malformedTimesAreRefused(tag: UInt8, text: String) {
        #expect(Self.certificate(start: (tag, text)) == nil)
    }

    /// A wildcard matches exactly one label (RFC 9525 §6.3).
    @Test(arguments: [
        ("example.com", "example.com", true), ("EXAMPLE.com.", "Example.COM", true), ("www.example.com", "example.com", false),
        ("www.example.com", "*.example.com", true), ("a.www.example.com", "*.example.com", false), ("example.com", "*.example.com", false),
        (".example.com", "*.example.com", false), ("example.com", "*.com", false), ("www.example.com", "w*.example.com", false),
        ("www.example.com", "*", false), ("www.example.com", "*.*.com", false), ("www.example.com", "www.*.com", false),
        ("a..b", "*..b", false), ("", "", false), ("www.example.com", "*.example.com.", false), ("com", "*.", false),
        ("xn--bcher-kva.example.com", "*.example.com", true), ("example.com.evil.test", "example.com", false),
    ])
    func nameMatchesExactlyOrByAWildcardLabel(host: String, pattern: String, matches: Bool) throws {
        #expect(ServerName(host: host).isNamed(by: try Self.certificate(dns: [pattern])) == matches)
    }

    @Test(
        arguments: [
            ("127.0.0.1", [127, 0, 0, 1], true), ("127.0.0.2", [127, 0, 0, 1], false),
            ("::1", [UInt8](repeating: 0, count: 15) + [1], true), ("0:0::1", [UInt8](repeating: 0, count: 15) + [1], true),
            ("::ffff:127.0.0.1", [127, 0, 0, 1], false),
        ] as [(String, [UInt8], Bool)])
    func addressMatchesOnlyTheSameAddress(host: String, bytes: [UInt8], matches: Bool) throws {
        #expect(ServerName(host: host).isNamed(by: try Self.certificate(addresses: [bytes])) == matches)
    }

    @Test func dnsNameNeverMatchesAnAddress() throws {
        #expect(!ServerName(host: "127.0.0.1").isNamed(by: try Self.certificate(dns: ["127.0.0.1", "*.0.0.1"])))
        #expect(ServerName(host: "127.0.0.1").indication == nil)
    }

    @Test func nameInAMessageIsShortAndOnOneLine() throws {
        #expect(DisplayText.line("a\nb\u{202E}c\u{7}") == "a\u{FFFD}b\u{FFFD}c\u{FFFD}")
        #expect(DisplayText.line(String(repeating: "x", count: 1000)).count == 65)
    }

    private static func certificate(dns: [String] = [], addresses: [[UInt8]] = []) throws -> ServerCertificate {
        try #require(certificate(dns: dns, addresses: addresses, start: (0x17, "700101000000Z")))
    }

    /// An unsigned certificate with these names. `start` is the tag and the text of the time from which it is valid.
    private static func certificate(
        dns: [String] = ["a.test"], addresses: [[UInt8]] = [], start: (tag: UInt8, text: String)
    ) -> ServerCertificate? {
        /// An element of DER: a tag, a length and the content.
        func element(_ tag: UInt8, _ content: [UInt8]) -> [UInt8] {
            content.count < 128
                ? [tag, UInt8(content.count)] + content : [tag, 0x82, UInt8(content.count >> 8), UInt8(content.count & 255)] + content
        }
        let names = dns.flatMap { element(0x82, Array($0.utf8)) } + addresses.flatMap { element(0x87, $0) }
        let extensionList = element(0x30, element(0x30, [0x06, 3, 0x55, 0x1D, 0x11] + element(0x04, element(0x30, names))))
        let times = element(0x30, element(start.tag, Array(start.text.utf8)) + element(0x17, Array("490101000000Z".utf8)))
        // sha256WithRSAEncryption, and a key of this algorithm.
        let algorithm = element(0x30, [0x06, 9, 0x2A, 0x86, 0x48, 0x86, 0xF7, 0x0D, 0x01, 0x01, 0x0B, 0x05, 0x00])
        let keyAlgorithm = element(0x30, [0x06, 9, 0x2A, 0x86, 0x48, 0x86, 0xF7, 0x0D, 0x01, 0x01, 0x01, 0x05, 0x00])
        let key = element(0x30, keyAlgorithm + element(0x03, [0, 0x30, 6, 0x02, 1, 3, 0x02, 1, 3]))
        let version = element(0xA0, [0x02, 1, 2])
        let body =
            version + [0x02, 1, 1] + algorithm + element(0x30, []) + times + element(0x30, []) + key + element(0xA3, extensionList)
        return ServerCertificate(der: element(0x30, element(0x30, body) + algorithm + element(0x03, [0, 0])))
    }
}
