// SPDX-License-Identifier: Apache-2.0

import Foundation
import ServerSupport
import TestThreads
import Testing

/// The output of `get` about TLS: the key log, and client certificates.
@Suite(.blocking, .timeLimit(.minutes(2))) struct GetTLSTests {
    private let program: Program
    /// A server without TLS.
    private let server: ScriptedServer

    init() throws {
        program = try Program()
        server = try ScriptedServer([.receive(1), .send(text: "HTTP/1.1 400 Bad Request\r\n\r\n"), .close])
    }

    private var secureURL: String { "https://127.0.0.1:\(server.port)/" }

    @Test func unwritableKeyLogIsReportedOnce() throws {
        let variables = ["SSLKEYLOGFILE": "/dev/null/keys"]
        let outcome = try program.run(["get", "-v", "-x", secureURL, "http://h.test/", "https://h.test/"], with: variables)
        let warnings = outcome.errors.filter { $0.contains("SSLKEYLOGFILE") }
        #expect(warnings == ["* warning: SSLKEYLOGFILE: '/dev/null/keys' can't be written: Not a directory"], "\(outcome.errors)")
        let outcomeWithoutVerbose = try program.run(["get", secureURL], with: variables)
        #expect(outcomeWithoutVerbose.status == 35 && outcomeWithoutVerbose.errors.count == 1, "\(outcomeWithoutVerbose.errors)")
    }

    @Test func passphraseInTheSyntaxOfCurlIsNotShown() throws {
        let file = try program.makeFile("me.p12")
        let outcome = try program.run("get", "--cert", "\(file.path):s3cr3t", secureURL)
        #expect(outcome.status == 58 && outcome.errors.count == 1)
        #expect(outcome.errors.first?.contains("give its passphrase with --pass") == true)
        #expect(!outcome.errors.joined().contains("s3cr3t"))
    }

    @Test func invalidCertificateFileIsNamed() throws {
        let file = try program.makeFile("junk", "junk")
        let outcome = try program.run("get", "--cert", file.path, secureURL)
        let errorText = "'\(file.path)' is not a readable certificate; it has to be in PEM, DER or PKCS #12"
        #expect(outcome.status == 58 && outcome.errors == ["portolan: the client certificate \(errorText)"], "\(outcome.errors)")
    }
}
