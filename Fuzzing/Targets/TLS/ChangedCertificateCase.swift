// SPDX-License-Identifier: Apache-2.0

import Portolan
@_spi(Fuzzing) import PortolanTransport

/// Changes the bytes of a certificate, which the client parses and a server presents.
///
/// Bit 4 of the first byte selects TLS 1.2. There is one byte for the certificate, and one for OpenSSL's verification
/// result. A further byte, if odd, makes the server present the certificate even if it is unreadable. Each change is a
/// byte for its kind, two for the position, and the data of the kind.
struct ChangedCertificateCase {
    private let der: [UInt8]
    private let isTLS12: Bool
    private let code: Int32
    private let seed: UInt8

    init(_ mode: UInt8, _ source: inout ByteSource) {
        isTLS12 = mode & 4 != 0
        let kind = TLSCertificates.Kind.allCases[source.next(below: UInt8(TLSCertificates.Kind.allCases.count))]
        (code, seed) = (Int32(source.next(below: 100)), source.next())
        var der = kind.chain[0]
        var count = 0
        while !source.isEmpty, count < 32, !der.isEmpty {
            count += 1
            let change = source.next()
            let place = (Int(source.next()) << 8 | Int(source.next())) % der.count
            switch change & 3 {
            case 0: der[place] = source.next()
            case 1: der[place] ^= 1 << (change >> 2 & 7)
            case 2: der.insert(contentsOf: (0...(change >> 2 & 15)).map { _ in source.next() }, at: place)
            default: der.removeSubrange(place..<min(der.count, place + 1 + Int(change >> 2 & 15)))
            }
        }
        self.der = der
    }

    func check() throws(FuzzFinding) {
        try CertificateOracle.check(der, code: code)
        guard ServerCertificate(der: der) != nil || seed & 1 != 0 else { return }
        try connect()
    }

    private func connect() throws(FuzzFinding) {
        let remains: () -> Bool
        do {
            let run = try TLSRun(TLSClients.context(), .performDefault, isLate: false, seed: nil)
            remains = run.remains
            var settings = TLSServerSettings()
            settings.isTLS12 = isTLS12
            let server = try TLSServer(TLSServerContext.with(settings), leaf: der, steps: [.write([1, 2, 3])])
            for _ in 0..<8 {
                server.receive(run.takeOutput())
                _ = server.proceed()
                run.deliver(server.takeOutput())
            }
            _ = try run.finish()
            try run.checkTrust()
        }
        try require(!remains(), "resources of the connection still exist")
    }
}

/// Checks properties that every certificate has.
enum CertificateOracle {
    static let hosts = [
        "fuzz.example", "FUZZ.example.", "a.wild.example", "wild.example", "a.b.wild.example", "192.0.2.1", "2001:db8::1", "example", "",
    ]

    static func check(_ der: [UInt8], code: Int32) throws(FuzzFinding) {
        guard let certificate = ServerCertificate(der: der) else {
            let error = CertificateReading.error(of: [der], host: hosts[0], finding: nil, now: 0)
            return try require(error != nil, "an unreadable certificate has no error")
        }
        try require(ServerCertificate(der: der) == certificate, "parsing the certificate again gives another one")
        for text in [certificate.subject, certificate.issuer] + certificate.names {
            try require(text.unicodeScalars.count <= 65, "a name has \(text.unicodeScalars.count) characters")
            if !text.isEmpty { try TLSRun.check(message: text) }
        }
        for host in hosts {
            let isNamed = CertificateReading.isNamed(host, by: certificate)
            if isNamed { try require(occurs(host, in: der), "it is valid for '\(host)', which it does not contain") }
            let error = CertificateReading.error(of: [der], host: host, finding: nil, now: 1_700_000_000)
            try require(
                (error == nil) == isNamed,
                "\(isNamed ? "it is" : "it is not") valid for '\(host)', and its error is \(error.map { "\($0)" } ?? "none")")
            let chain = [der, TLSCertificates.intermediate, TLSCertificates.root]
            for depth in 0..<4 {
                guard let error = CertificateReading.error(of: chain, host: host, finding: (code, depth), now: 1_700_000_000) else {
                    throw FuzzFinding("a chain that OpenSSL does not verify has no error")
                }
                try TLSRun.check(message: error.message)
            }
        }
    }

    /// Whether the host's name or its pattern occurs anywhere in the bytes.
    private static func occurs(_ host: String, in der: [UInt8]) -> Bool {
        switch host {
        case "192.0.2.1": return contains(der, [192, 0, 2, 1])
        case "2001:db8::1": return contains(der, [0x20, 1, 0x0D, 0xB8] + [UInt8](repeating: 0, count: 11) + [1])
        default:
            let name = (host.hasSuffix(".") ? String(host.dropLast()) : host).lowercased()
            let text = der.map { (65...90).contains($0) ? $0 + 32 : $0 }
            let star = name.firstIndex(of: ".").map { "*" + name[$0...] } ?? name
            return contains(text, Array(name.utf8)) || contains(text, Array(star.utf8))
        }
    }

    private static func contains(_ bytes: [UInt8], _ part: [UInt8]) -> Bool {
        guard !part.isEmpty, bytes.count >= part.count else { return false }
        return (0...(bytes.count - part.count)).contains { bytes[$0..<($0 + part.count)].elementsEqual(part) }
    }
}
