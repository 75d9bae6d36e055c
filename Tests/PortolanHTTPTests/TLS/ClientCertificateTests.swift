// SPDX-License-Identifier: Apache-2.0

import PortolanCore
import PortolanTestSupport
import ServerSupport
import Synchronization
import Testing

@testable import PortolanHTTP
@testable import PortolanTransport

/// Client certificates: from the settings of the handler, and from the delegate's answer to a challenge.
@Suite(.timeLimit(.minutes(10))) struct ClientCertificateTests {
    static let tlsVersions: [SecureServer.Settings.Version] = [.tls12, .tls13]

    /// A server that requires a client certificate, or accepts one if `isOptional`.
    private static func server(
        _ version: SecureServer.Settings.Version = .tls13, isOptional: Bool = false, certificate: String = "good"
    ) async throws -> SecureServer {
        try await SecureServer(certificate) { settings in
            let roots = try certificates().path("authority.pem")
            settings.clientCertificates = isOptional ? .optional(roots: roots) : .required(roots: roots)
            settings.maximumVersion = version
        }
    }

    private static func credential(_ name: String = "client") throws -> Credential {
        .certificate(chain: [try certificates().der(name)], privateKey: try certificates().key(name))
    }

    @Test(arguments: tlsVersions)
    func configuredClientCertificateIsSentWithoutAChallenge(version: SecureServer.Settings.Version) async throws {
        let server = try await Self.server(version)
        let certificates = try certificates()
        let identities = [
            TLSIdentity(certificatePath: certificates.path("client.pem"), keyPath: certificates.path("client.key")),
            TLSIdentity(certificatePath: certificates.path("client-both.pem")),
            TLSIdentity(
                certificatePath: certificates.path("client.pem"), keyPath: certificates.path("client-locked.key"), passphrase: "secret"),
            TLSIdentity(certificatePath: certificates.path("client.p12"), passphrase: "secret"),
            TLSIdentity(certificatePath: certificates.path("client.der"), keyPath: certificates.path("client.key.der")),
            TLSIdentity(chain: [try certificates.der("client")], privateKey: try certificates.bytes("client.key.der")),
        ]
        for identity in identities {
            let outcome = try await SecureLoaderFixture { $0.tls.identity = identity }.load(server.url)
            #expect(outcome.text == "hello")
            #expect(outcome.challengeCount == 1)
        }
        #expect(server.count(.secured("A Client")) == identities.count)
        try await server.stop()
    }

    @Test(arguments: tlsVersions, [false, true])
    func delegateMayProvideAClientCertificate(version: SecureServer.Settings.Version, isOptional: Bool) async throws {
        let server = try await Self.server(version, isOptional: isOptional)
        let credential = try Self.credential()
        let outcome = try await SecureLoaderFixture().load(server.url) { challenge in
            if challenge.asksForCertificate { #expect(challenge.protectionSpace.host == "127.0.0.1") }
            challenge.answer(challenge.asksForCertificate ? .use(credential) : .performDefault)
        }
        #expect(outcome.text == "hello")
        #expect(outcome.challengeCount == 2)
        #expect(server.count(.secured("A Client")) == 1)
        try await server.stop()
    }

    @Test(arguments: tlsVersions)
    func optionalClientCertificateMayBeOmitted(version: SecureServer.Settings.Version) async throws {
        let server = try await Self.server(version, isOptional: true)
        for answer in [ChallengeAnswer.performDefault, .continueWithoutCredential] {
            #expect(try await SecureLoaderFixture().load(server.url, answering: answer).text == "hello")
        }
        #expect(server.count(.secured(nil)) == 2)
        try await server.stop()
    }

    @Test(arguments: tlsVersions)
    func missingClientCertificateFailsTheLoad(version: SecureServer.Settings.Version) async throws {
        let server = try await Self.server(version)
        let outcome = try await SecureLoaderFixture().load(server.url)
        #expect(outcome.code == .secureConnectionFailed)
        #expect(outcome.text.contains("it wants a client certificate, and got none (alert "), "\(outcome.text)")
        #expect(outcome.delegate.error?.remedy == .giveClientCertificate)
        try await server.stop()
    }

    @Test(arguments: tlsVersions)
    func refusedClientCertificateFailsTheLoad(version: SecureServer.Settings.Version) async throws {
        let server = try await Self.server(version)
        let credential = try Self.credential("client-unknown")
        let outcome = try await SecureLoaderFixture().load(server.url) { challenge in
            challenge.answer(challenge.asksForCertificate ? .use(credential) : .performDefault)
        }
        #expect(outcome.code == .secureConnectionFailed)
        #expect(outcome.text.contains("the client certificate"))
        #expect(outcome.delegate.error?.remedy == .changeClientCertificate, "\(outcome.text)")
        try await server.stop()
    }

    @Test(arguments: [
        (ChallengeAnswer.rejectProtectionSpace, LoadError.Code.authenticationRequired), (.cancel, .authenticationCancelled),
    ])
    func delegateMayFailTheLoadInsteadOfSendingACertificate(answer: ChallengeAnswer, code: LoadError.Code) async throws {
        let server = try await Self.server()
        let outcome = try await SecureLoaderFixture().load(server.url) { $0.answer($0.asksForCertificate ? answer : .performDefault) }
        #expect(outcome.code == code)
        try await server.stop()
    }

    /// The server has sent an alert and closed the connection before the client writes. The write causes a reset. The
    /// error must name the alert.
    @Test func tlsAlertIsReportedInsteadOfTheReset() async throws {
        let server = try await Self.server(.tls13)
        var configuration = TransportConfiguration()
        configuration.tls.verification = .none
        let endpoint = Endpoint(
            TLSPeer(host: "127.0.0.1", port: server.port, description: "the server"), applicationProtocols: ["http/1.1"])
        let loop = try #require(try SocketEventLoop.shared.get().first)
        let openConnection: LoopBound<OpenConnection> = try await withCheckedContinuation { continuation in
            loop.execute { [configuration] in
                let connector = ByteConnector(configuration, contexts: TLSContextCache(configuration.tls), on: loop)
                // The closure retains the attempt until its completion, because nothing else does.
                var attempt: ByteConnectionAttempt?
                let newAttempt = connector.attempt(to: endpoint, for: nil) { _ in
                } completion: { result in
                    withExtendedLifetime(attempt) { continuation.resume(returning: result.map(LoopBound.init)) }
                    attempt = nil
                }
                attempt = newAttempt
                newAttempt.start()
            }
        }.get()
        try await server.waitForFailure()
        try await server.stop()
        let failure: SocketError? = await withCheckedContinuation { continuation in
            loop.execute {
                let transport = openConnection.value.transport
                transport.setReceiver(EndReceiver { continuation.resume(returning: $0) })
                // The first write causes the reset, and the second write fails.
                for _ in 0..<2 { transport.write([UInt8](repeating: 1, count: 100)) }
                #expect(!transport.isWritable)
            }
        }
        #expect(failure?.isAlert == true, "\(String(describing: failure))")
    }

    /// A receiver that passes the end of the connection to a closure.
    private final class EndReceiver: ByteConnectionReceiver {
        let isIdle = false
        private let didEnd: (SocketError?) -> Void

        init(_ didEnd: @escaping (SocketError?) -> Void) { self.didEnd = didEnd }

        func didReceive(_ bytes: borrowing RawSpan) {}
        func transportIsWritable() {}
        func transportDidEnd(_ failure: SocketError?) { didEnd(failure) }
    }

    @Test func untrustedServerGetsNoClientCertificate() async throws {
        for name in ["self", "misnamed"] {
            let server = try await Self.server(isOptional: true, certificate: name)
            let certificates = try certificates()
            let fixture = try SecureLoaderFixture {
                $0.tls.identity = TLSIdentity(certificatePath: certificates.path("client-both.pem"))
            }
            #expect(try await fixture.load(server.url).code == .certificateNotTrusted)
            try await server.wait(for: .closed)
            #expect(server.count(.secured("A Client")) == 0)
            // The client sends its identity once the load accepts the server.
            #expect(try await fixture.load(server.url, answering: .use(.serverTrust)).text == "hello")
            #expect(server.count(.secured("A Client")) == 1)
            try await server.stop()
        }
    }

    @Test func serverTrustedByTheDelegateGetsItsClientCertificate() async throws {
        let server = try await Self.server(certificate: "self")
        let credential = try Self.credential()
        let outcome = try await SecureLoaderFixture().load(server.url) { challenge in
            challenge.answer(.use(challenge.asksForCertificate ? credential : .serverTrust))
        }
        #expect(outcome.text == "hello")
        #expect(server.count(.secured("A Client")) == 1)
        try await server.stop()
    }

    @Test func connectionWithTheCertificateOfOneLoadIsNotShared() async throws {
        let server = try await Self.server(isOptional: true)
        let fixture = try SecureLoaderFixture()
        let credential = try Self.credential()
        _ = try await fixture.load(server.url) { $0.answer($0.asksForCertificate ? .use(credential) : .performDefault) }
        #expect(try await fixture.load(server.url).text == "hello")
        #expect(server.count(.secured("A Client")) == 1)
        #expect(server.count(.secured(nil)) == 1)
        try await server.stop()
    }

    @Test func unusableClientCertificateFailsTheLoad() async throws {
        let server = try await Self.server()
        let unrelatedKey = try certificates().key("good")
        let leaf = try certificates().der("client")
        let unusableCredentials: [(Credential, String)] = [
            (.certificate(chain: [], privateKey: unrelatedKey), "no certificate in its chain"),
            (.certificate(chain: [[]], privateKey: unrelatedKey), "not a certificate in DER"),
            (.certificate(chain: [[1, 2, 3]], privateKey: unrelatedKey), "not a certificate in DER"),
            (.certificate(chain: [leaf], privateKey: []), "private key can't be read"),
            (.certificate(chain: [leaf], privateKey: unrelatedKey), "do not belong together"),
        ]
        for (credential, message) in unusableCredentials {
            let outcome = try await SecureLoaderFixture().load(server.url) {
                $0.answer($0.asksForCertificate ? .use(credential) : .performDefault)
            }
            #expect(outcome.code == .clientCertificateUnusable)
            #expect(outcome.text.contains(message))
        }
        try await server.stop()
    }
}
