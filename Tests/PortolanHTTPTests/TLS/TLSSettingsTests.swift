// SPDX-License-Identifier: Apache-2.0

import CPortolanOpenSSL
import PortolanCore
import PortolanTestSupport
import ServerSupport
import Testing

@testable import PortolanHTTP
@testable import PortolanTransport

/// Trust roots and identities: their sources, and the errors of files that cannot be used.
@Suite(.timeLimit(.minutes(10))) struct TLSSettingsTests {
    /// The body of a load with these settings, or the error's message.
    private static func text(_ change: @escaping (inout TLSSettings) throws -> Void) async throws -> String {
        let server = try await SecureServer("good")
        let outcome = try await SecureLoaderFixture { try change(&$0.tls) }.load(server.url)
        try await server.stop()
        return outcome.text
    }

    @Test func rootsMayBeFilesFoldersAndBytes() async throws {
        let certificates = try certificates()
        let sources: [CertificateSource] = [
            .file(path: certificates.path("authority.pem")), .file(path: certificates.path("roots")),
            .der(try certificates.der("authority")),
        ]
        for source in sources {
            #expect(try await Self.text { $0.trustRoots = .only([source]) } == "hello")
            #expect(try await Self.text { $0.trustRoots = .system(adding: [source]) } == "hello")
        }
    }

    @Test func serverIsNotTrustedWithoutItsRoot() async throws {
        let path = try certificates().path("stranger.pem")
        for roots in [TrustRoots.system, .only([]), .only([.file(path: path)])] {
            #expect(try await Self.text { $0.trustRoots = roots }.contains("its issuer, 'Test Authority', is not known"))
        }
    }

    /// SSL_CERT_FILE and SSL_CERT_DIR have the same meaning as for OpenSSL and curl.
    @Test(arguments: [("SSL_CERT_FILE", "authority.pem"), ("SSL_CERT_DIR", "roots")])
    func environmentVariablesNameTheSystemRoots(variable: String, value: String) async throws {
        let certificates = try certificates()
        let path = certificates.path(value)
        let contexts = TLSContextCache(TLSSettings()) { $0 == variable ? path : nil }
        let (results, result) = AsyncStream.makeStream(of: Result<TLSContext, LoadError>.self)
        contexts.context(offering: []) { result.yield($0) }
        var iterator = results.makeAsyncIterator()
        let context = try #require(await iterator.next()).get()
        let expected = try CertificateFiles.certificates(from: .file(path: path), for: .trustRoot)
        let count = unsafe portolan_X509_STORE_count(SSL_CTX_get_cert_store(context.context))
        #expect(count == CInt(Set(expected.map(\.der)).count) && count > 0, "only these roots, and none of the system's")
    }

    static let badRoots: [(file: String, phrase: String)] = [
        ("missing.pem", "the trust root '"), ("text.pem", "is not a readable certificate; it has to be in PEM or DER"),
        ("empty.pem", "is empty; it has to be in PEM or DER"), ("bad.der", "is not a readable certificate"),
        ("client.p12", "is not a readable certificate; it has to be in PEM or DER"),
        ("good.key", "contains no readable certificate in PEM"),
    ]

    @Test(arguments: badRoots)
    func errorNamesAnUnusableTrustRoot(file: String, phrase: String) async throws {
        let path = try certificates().path(file)
        let text = try await Self.text { $0.trustRoots = .only([.file(path: path)]) }
        #expect(text.contains(path))
        #expect(text.contains(phrase))
    }

    static let badIdentities: [(certificate: String, key: String?, passphrase: String?, phrase: String)] = [
        ("missing.pem", nil, nil, "missing.pem' can't be read"),
        ("text.pem", nil, nil, "text.pem' is not a readable certificate; it has to be in PEM, DER or PKCS #12"),
        ("empty.pem", nil, nil, "empty.pem' is empty; it has to be in PEM, DER or PKCS #12"),
        ("client.pem", nil, nil, "contains no private key; name the file with the certificate's private key"),
        ("client.der", nil, nil, "contains no private key; name the file with the certificate's private key"),
        ("client.p12", nil, nil, "client.p12' is encrypted, and no passphrase was given; give the passphrase"),
        ("client.p12", nil, "wr0ng!", "client.p12' is encrypted, and the passphrase does not open it; check the passphrase"),
        ("client-old.p12", nil, "wr0ng!", "client-old.p12' is encrypted, and the passphrase does not open it; check the passphrase"),
        ("client-old.p12", nil, "secret", "'openssl pkcs12 -legacy -in OLD.p12 -out NEW.pem'"),
        ("client-keyless.p12", nil, "secret", "has to contain a certificate and its private key, but does not"),
        ("client.pem", "missing.key", nil, "missing.key' can't be read"),
        ("client.pem", "text.pem", nil, "can't be read; it has to be in PEM"),
        ("client.pem", "empty.pem", nil, "can't be read; it has to be in PEM"),
        ("client.pem", "good.key", nil, "do not belong together"),
        ("client.pem", "client-locked.key", nil, "no passphrase was given"),
        ("client.pem", "client-locked.key", "wr0ng!", "the passphrase does not open it"),
        ("client.pem", "client-locked.key", "gehéim", "the passphrase does not open it"),
    ]

    @Test(arguments: badIdentities)
    func errorNamesAnUnusableIdentityAndHidesItsPassphrase(
        certificate: String, key: String?, passphrase: String?, phrase: String
    ) async throws {
        let certificates = try certificates()
        let identity = TLSIdentity(
            certificatePath: certificates.path(certificate), keyPath: key.map(certificates.path), passphrase: passphrase)
        let text = try await Self.text { $0.identity = identity }
        #expect(text.contains(phrase), "\(text)")
        if let passphrase { #expect(!text.contains(passphrase)) }
    }

    @Test func descriptionsHideSecrets() throws {
        var settings = TLSSettings()
        settings.identity = TLSIdentity(certificatePath: "c.pem", keyPath: "k.pem", passphrase: "s3cret")
        var dumped = ""
        dump(settings, to: &dumped)
        for text in [String(describing: settings), String(reflecting: settings), dumped] {
            #expect(text.contains("k.pem"))
            #expect(!text.contains("s3cret"))
        }
        let identityInMemory = TLSIdentity(chain: [[1]], privateKey: [222, 173])
        #expect(!String(describing: identityInMemory).contains("222"))
    }
}
