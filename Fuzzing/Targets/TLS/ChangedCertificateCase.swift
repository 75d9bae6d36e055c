// SPDX-License-Identifier: Apache-2.0

import Portolan
@_spi(Fuzzing) import PortolanTransport

/// Changes the bytes of a certificate. The client parses the certificate, and a server presents it.
///
/// Bit 4 of the first byte selects TLS 1.2. A byte for the certificate and one for OpenSSL's verification result
/// follow. If the next byte is odd, the server presents the certificate even if it is unreadable. Each change is a byte
/// for its kind, two for the position, and the data of the kind.
struct ChangedCertificateCase {
    private let der: [UInt8]
    private let isTLS12: Bool
    private let verificationResult: Int32
    private let presentsUnreadable: Bool

    init(_ mode: UInt8, _ source: inout ByteSource) {
        isTLS12 = mode & 4 != 0
        let kind = TLSCertificates.Kind.allCases[source.next(below: UInt8(TLSCertificates.Kind.allCases.count))]
        (verificationResult, presentsUnreadable) = (Int32(source.next(below: 100)), source.next() & 1 != 0)
        var der = kind.chain[0]
        var count = 0
        while !source.isEmpty, count < 32, !der.isEmpty {
            count += 1
            let change = source.next()
            let position = (Int(source.next()) << 8 | Int(source.next())) % der.count
            switch change & 3 {
            case 0: der[position] = source.next()
            case 1: der[position] ^= 1 << (change >> 2 & 7)
            case 2: der.insert(contentsOf: (0...(change >> 2 & 15)).map { _ in source.next() }, at: position)
            default: der.removeSubrange(position..<min(der.count, position + 1 + Int(change >> 2 & 15)))
            }
        }
        self.der = der
    }

    func check() throws(FuzzFinding) {
        try CertificateOracle.check(der, verificationResult: verificationResult)
        guard ServerCertificate(der: der) != nil || presentsUnreadable else { return }
        try connect()
    }

    private func connect() throws(FuzzFinding) {
        let hasResources: () -> Bool
        do {
            let run = try TLSRun(TLSClients.context(), .performDefault, respondsLate: false, seed: nil)
            hasResources = run.hasResources
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
        try require(!hasResources(), "resources of the connection still exist")
    }
}

/// Checks properties that do not depend on the contents of a certificate.
enum CertificateOracle {
    static let hosts = [
        "fuzz.example", "FUZZ.example.", "a.wild.example", "wild.example", "a.b.wild.example", "192.0.2.1", "2001:db8::1", "example", "",
    ]

    static func check(_ der: [UInt8], verificationResult: Int32) throws(FuzzFinding) {
        guard let certificate = ServerCertificate(der: der) else {
            let error = CertificateReading.error(of: [der], host: hosts[0], finding: nil, now: 0)
            return try require(error != nil, "an unreadable certificate has no error")
        }
        try require(ServerCertificate(der: der) == certificate, "parsing the certificate again gives another one")
        for lowercasedBytes in [certificate.subject, certificate.issuer] + certificate.names {
            try require(lowercasedBytes.unicodeScalars.count <= 65, "a name has \(lowercasedBytes.unicodeScalars.count) characters")
            if !lowercasedBytes.isEmpty { try TLSRun.check(message: lowercasedBytes) }
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
                guard let error = CertificateReading.error(of: chain, host: host, finding: (verificationResult, depth), now: 1_700_000_000)
                else {
                    throw FuzzFinding("a chain that OpenSSL does not verify has no error")
                }
                try TLSRun.check(message: error.message)
            }
        }
    }

    /// Whether the host's name, or the pattern with `*` as its first label, occurs anywhere in the bytes.
    private static func occurs(_ host: String, in der: [UInt8]) -> Bool {
        switch host {
        case "192.0.2.1": return contains(der, [192, 0, 2, 1])
        case "2001:db8::1": return contains(der, [0x20, 1, 0x0D, 0xB8] + [UInt8](repeating: 0, count: 11) + [1])
        default:
            let name = (host.hasSuffix(".") ? String(host.dropLast()) : host).lowercased()
            let lowercasedBytes = der.map { (65...90).contains($0) ? $0 + 32 : $0 }
            let pattern = name.firstIndex(of: ".").map { "*" + name[$0...] } ?? name
            return contains(lowercasedBytes, Array(name.utf8)) || contains(lowercasedBytes, Array(pattern.utf8))
        }
    }

    private static func contains(_ bytes: [UInt8], _ part: [UInt8]) -> Bool {
        guard !part.isEmpty, bytes.count >= part.count else { return false }
        return (0...(bytes.count - part.count)).contains { bytes[$0..<($0 + part.count)].elementsEqual(part) }
    }
}
