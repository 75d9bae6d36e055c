// SPDX-License-Identifier: Apache-2.0

import Foundation
import PortolanTestSupport
import TestThreads

/// Certificates of every kind that the tests need. openssl(1) creates them once for all tests.
package final class Certificates: Sendable {
    static let shared = Result { try Certificates() }

    private let folder: TemporaryFolder

    private init() throws {
        folder = try TemporaryFolder()
        let process = Process()
        process.executableURL = URL(fileURLWithPath: "/bin/sh")
        process.arguments = ["-euc", Self.script]
        process.currentDirectoryURL = URL(fileURLWithPath: folder.path)
        let log = folder.path(of: "log")
        try Data().write(to: URL(fileURLWithPath: log))
        process.standardOutput = FileHandle(forWritingAtPath: log)
        process.standardError = process.standardOutput
        try process.run()
        process.waitUntilExit()
        guard process.terminationStatus == 0 else { throw Failure(log: try String(contentsOfFile: log, encoding: .utf8)) }
    }

    struct Failure: Error { let log: String }

    package func path(_ file: String) -> String { folder.path(of: file) }

    /// The certificate chain and the key of `name`, for a server's settings.
    package func files(_ name: String) -> SecureServer.Settings.Certificate { .files(chain: path("\(name).pem"), key: path("\(name).key")) }

    /// A certificate of the chain of `name` in DER; index 0 is the leaf.
    package func der(_ name: String, _ index: Int = 0) throws -> [UInt8] {
        let blocks = try blocks("\(name).pem")
        guard blocks.indices.contains(index) else { throw Failure(log: "\(name).pem has no certificate \(index)") }
        return blocks[index]
    }

    /// The key of `name` in DER.
    package func key(_ name: String) throws -> [UInt8] {
        guard let key = try blocks("\(name).key").first else { throw Failure(log: "\(name).key has no key") }
        return key
    }

    /// Decodes the blocks of a PEM file (RFC 7468 §3).
    private func blocks(_ file: String) throws -> [[UInt8]] {
        let text = try String(contentsOfFile: path(file), encoding: .utf8)
        return text.components(separatedBy: "-----BEGIN ").dropFirst().map { block in
            let lines = block.split(separator: "\n").dropFirst().prefix { !$0.hasPrefix("-----END ") }
            return Array(Data(base64Encoded: lines.joined()) ?? Data())
        }
    }

    /// The content of a file.
    package func bytes(_ file: String) throws -> [UInt8] { Array(try Data(contentsOf: URL(fileURLWithPath: path(file)))) }

    /// `issue FILE COMMON-NAME ISSUER FROM UNTIL EXTENSIONS` creates the files FILE.key and FILE.pem. `below` is
    /// signed by the intermediate authority; `below.pem` has the complete chain, and `incomplete.pem` only the leaf.
    private static let script = #"""
        config() {
            printf '%s\n' '[ca]' 'default_ca=d' '[d]' 'new_certs_dir=.' "database=$1.index" "serial=$1.serial" 'default_md=sha256' 'policy=p' \
                'unique_subject=no' 'copy_extensions=none' '[p]' 'commonName=supplied' > "$1.cnf"
            : > "$1.index"; printf '%s' "$2" > "$1.serial"
        }
        key() { openssl ecparam -name prime256v1 -genkey -noout -out "$1.key"; }
        root() {
            key "$1"; config "$1" "$3"
            openssl req -x509 -new -key "$1.key" -subj "/CN=$2" -days 3650 -out "$1.pem" \
                -addext basicConstraints=critical,CA:TRUE -addext keyUsage=keyCertSign
        }
        issue() {
            key "$1"; printf '%s\n' "$6" > "$1.ext"
            openssl req -new -key "$1.key" -subj "/CN=$2" -out "$1.csr"
            openssl ca -batch -notext -config "$3.cnf" -cert "$3.pem" -keyfile "$3.key" -startdate "$4" -enddate "$5" \
                -in "$1.csr" -out "$1.pem" -extfile "$1.ext"
        }
        past=20200101000000Z; later_past=20210202000000Z; future=20400303000000Z; far_future=20491231000000Z
        local_names=subjectAltName=DNS:localhost,DNS:*.wild.test,IP:127.0.0.1,IP:::1
        root authority 'Test Authority' 01; root stranger 'Unknown Authority' 01
        issue good good.test authority $past $far_future $local_names
        issue expired expired.test authority $past $later_past $local_names
        issue future future.test authority $future $far_future $local_names
        issue misnamed misnamed.test authority $past $far_future subjectAltName=DNS:other.test,DNS:www.other.test,IP:192.0.2.1
        issue nameless localhost authority $past $far_future keyUsage=digitalSignature
        issue unknown unknown.test stranger $past $far_future $local_names
        issue expired-misnamed both.test authority $past $later_past subjectAltName=DNS:other.test
        issue client-only client-only.test authority $past $far_future "$local_names
        extendedKeyUsage=clientAuth"
        key self; openssl req -x509 -new -key self.key -subj /CN=self.test -days 3650 -out self.pem -addext $local_names
        issue intermediate 'Test Intermediate' authority $past $far_future 'basicConstraints=critical,CA:TRUE
        keyUsage=keyCertSign'
        config intermediate 01
        issue below below.test intermediate $past $far_future $local_names; cp below.pem incomplete.pem; cp below.key incomplete.key
        cat intermediate.pem >> below.pem
        issue client 'A Client' authority $past $far_future extendedKeyUsage=clientAuth
        issue client-unknown 'A Stranger' stranger $past $far_future extendedKeyUsage=clientAuth
        openssl pkcs8 -topk8 -in client.key -passout pass:secret -out client-locked.key
        openssl pkcs8 -topk8 -nocrypt -in client.key -outform DER -out client.key.der
        openssl x509 -in client.pem -outform DER -out client.der
        cat client.pem client.key > client-both.pem
        openssl pkcs12 -export -in client.pem -inkey client.key -passout pass:secret -out client.p12
        openssl pkcs12 -export -legacy -in client.pem -inkey client.key -passout pass:secret -out client-old.p12
        openssl pkcs12 -export -nokeys -in client.pem -passout pass:secret -out client-keyless.p12
        openssl pkey -in good.key -pubout -outform DER -out good.spki
        mkdir roots; cp authority.pem stranger.pem roots; echo text > roots/README
        echo text > text.pem; : > empty.pem; printf '0\005abc' > bad.der
        """#
}

/// The certificates of all tests.
///
/// - Throws: the error of their creation, in each test that needs them.
package func certificates() throws -> Certificates { try Certificates.shared.get() }

extension SecureServer {
    /// - Parameters:
    ///   - name: the name of the server's certificate.
    ///   - change: changes the settings before the server starts.
    package convenience init(
        _ name: String, _ behaviour: Behaviour = .respond(SecureServer.hello), on loopback: Loopback = .ipv4,
        change: (inout Settings) throws -> Void = { _ in }
    ) async throws {
        // Creating the certificates waits for a process.
        var settings = Settings(try await inOwnThread { try certificates().files(name) })
        try change(&settings)
        try self.init(settings, behaviour, on: loopback)
    }
}
