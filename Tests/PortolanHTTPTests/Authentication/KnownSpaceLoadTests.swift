// SPDX-License-Identifier: Apache-2.0

import Foundation
import HTTPTypes
import Logging
import PortolanCore
import PortolanHTTP
import PortolanTransport
import ServerSupport
import Synchronization
import Testing

/// Loads that use the credential of an earlier load in the same protection space.
@Suite(.timeLimit(.minutes(10))) struct KnownSpaceLoadTests {
    private static let basicChallenge = #"WWW-Authenticate: Basic realm="r""#
    /// The `Authorization` field of user `user` with the password `p1`.
    private static let basic = "Basic dXNlcjpwMQ=="
    private let storage = CredentialStorage()

    private static func refusal(_ challenge: String = basicChallenge) -> String {
        "HTTP/1.1 401 Who\r\n\(challenge)\r\nContent-Length: 2\r\n\r\nno"
    }

    private static func success(_ fields: String...) -> String {
        "HTTP/1.1 200 OK\r\n" + fields.map { $0 + "\r\n" }.joined() + "Content-Length: 3\r\n\r\nyes"
    }

    private static func server(_ responses: [String]) throws -> ScriptedServer {
        try ScriptedServer(responses.flatMap(ScriptedServer.responding))
    }

    /// The `Authorization` field of each request; `nil` for a request without one.
    private static func authorizations(_ server: ScriptedServer) -> [String?] {
        server.connections.flatMap { connection in
            connection.text.components(separatedBy: "\r\n\r\n").dropLast().map { head in
                head.components(separatedBy: "\r\n").first { $0.hasPrefix("Authorization: ") }.map { String($0.dropFirst(15)) }
            }
        }
    }

    private func loader() -> Loader {
        var http = HTTPConfiguration()
        http.proxies = .direct
        http.threadCount = 1
        var configuration = Loader.Configuration()
        configuration.handlers = [HTTPHandler(configuration: http)]
        configuration.credentials = storage
        return Loader(configuration: configuration, registry: ProtocolRegistry())
    }

    /// A delegate that answers only the first challenge of a load.
    private func delegate(_ password: String = "p1", _ persistence: Credential.Persistence = .loader) -> AnsweringDelegate {
        AnsweringDelegate { challenge in
            challenge.previousFailureCount == 0
                ? .use(.password(user: "user", password: password, persistence: persistence)) : .performDefault
        }
    }

    private func status(_ loader: Loader, _ url: String, _ delegate: AnsweringDelegate? = nil) async throws -> Int? {
        try await loader.data(for: Request(url), delegate: delegate).1.status?.code
    }

    @Test("After a load with Basic, requests below its path are sent with the credential, and other requests are not, RFC 7617 §2.2")
    func basicCredentialIsSentBelowThePathOfTheLoad() async throws {
        let server = try Self.server([Self.refusal()] + Array(repeating: Self.success(), count: 5))
        let loader = loader()
        let paths = ["/docs/index.html", "/docs/", "/docs/a/b", "/", "/docsx"]
        for (number, path) in paths.enumerated() {
            #expect(try await status(loader, server.url(path), number == 0 ? delegate() : nil) == 200)
        }
        #expect(Self.authorizations(server) == [nil, Self.basic, Self.basic, Self.basic, nil, nil])
    }

    @Test("A request that opts out of known spaces is sent without the credential of an earlier load")
    func requestWithoutKnownSpaces() async throws {
        let server = try Self.server([Self.refusal(), Self.success(), Self.refusal()])
        let loader = loader()
        #expect(try await status(loader, server.url(), delegate()) == 200)
        var request = try Request(server.url())
        request.usesAuthenticatedSpaces = false
        // In `portolan stdio`, each request has its own credential. This delegate has none.
        let delegateWithoutCredential = AnsweringDelegate { _ in .continueWithoutCredential }
        #expect(try await loader.data(for: request, delegate: delegateWithoutCredential).1.status?.code == 401)
        #expect(Self.authorizations(server) == [nil, Self.basic, nil])
    }

    @Test("A credential that is followed by a 503 is not sent by later loads", arguments: [true, false])
    func credentialBeforeAnErrorResponse(isStored: Bool) async throws {
        let unavailable = "HTTP/1.1 503 Busy\r\nContent-Length: 2\r\n\r\nno"
        let server = try Self.server([Self.refusal(), unavailable, Self.success()])
        let url = try URLRecord(parsing: server.url())
        let space = ProtectionSpace(
            kind: .password(scheme: "basic"), protocolName: "http", host: String(url.host ?? ""), port: url.port.map { Int($0) }, realm: "r"
        )
        let credential = Credential.password(user: "user", password: "p1", persistence: .loader)
        if isStored { storage.set(credential, for: space) }
        let loader = loader()
        #expect(try await status(loader, server.url(), isStored ? nil : delegate()) == 503)
        #expect(try await status(loader, server.url()) == 200)
        #expect(Self.authorizations(server) == [nil, Self.basic, nil])
        #expect(storage.defaultCredential(for: space) == (isStored ? credential : nil))
    }

    @Test("A credential without persistence is sent in its own load only")
    func credentialWithoutPersistenceIsNotReused() async throws {
        let server = try Self.server([Self.refusal(), Self.success(), Self.refusal()])
        let loader = loader()
        #expect(try await status(loader, server.url(), delegate("p1", .none)) == 200)
        #expect(try await status(loader, server.url()) == 401)
        #expect(Self.authorizations(server) == [nil, Self.basic, nil])
    }

    @Test("A credential without persistence is sent after a redirect in its space, with the next count or the next nonce")
    func redirectInTheSpace() async throws {
        func challenge(_ nonce: String) -> String { #"WWW-Authenticate: Digest realm="r", nonce="\#(nonce)", qop="auth""# }
        func redirect(_ fields: String = "") -> String { "HTTP/1.1 302 Found\r\nLocation: /b\r\n\(fields)Content-Length: 0\r\n\r\n" }
        for (nextNonce, expected) in [("", ["n 00000001", "n 00000002"]), ("m", ["n 00000001", "m 00000001"])] {
            let fields = nextNonce.isEmpty ? "" : "Authentication-Info: nextnonce=\"\(nextNonce)\"\r\n"
            let server = try Self.server([Self.refusal(challenge("n")), redirect(fields), Self.success(), Self.refusal(challenge("n"))])
            let loader = loader()
            #expect(try await status(loader, server.url(), delegate("p1", .none)) == 200)
            #expect(try await status(loader, server.url()) == 401)
            let sent = Self.authorizations(server).map { value in
                value.map { text in
                    ["nonce=\"", "nc="].map { name in
                        String(text.components(separatedBy: name).dropFirst().first?.prefix { $0 != "\"" && $0 != "," } ?? "")
                    }.joined(separator: " ")
                }
            }
            #expect(sent == [nil] + expected + [nil])
            #expect(storage.allCredentials.isEmpty)
        }
    }

    @Test("After a redirect in its space, a session algorithm keeps its client nonce, and a new challenge begins another session")
    func redirectInTheSpaceContinuesTheSession() async throws {
        let challenge = #"WWW-Authenticate: Digest realm="r", nonce="n", qop="auth", algorithm=SHA-256-sess"#
        let redirect = "HTTP/1.1 302 Found\r\nLocation: /b\r\nContent-Length: 0\r\n\r\n"
        let server = try Self.server([Self.refusal(challenge), redirect, Self.refusal(challenge + ", stale=true"), Self.success()])
        #expect(try await status(loader(), server.url(), delegate("p1", .none)) == 200)
        let sent = Self.authorizations(server).compactMap { $0 }
        #expect(sent.count == 3)
        let clientNonces = sent.map { $0.components(separatedBy: "cnonce=\"").last?.prefix { $0 != "\"" } }
        #expect(clientNonces.first == clientNonces.dropFirst().first && clientNonces.last != clientNonces.first, "\(sent)")
    }

    @Test("The known credential is not sent with another Authorization field, for another user of the URL, or after its removal")
    func requestsWithoutTheKnownCredential() async throws {
        let server = try Self.server([Self.refusal()] + Array(repeating: Self.success(), count: 5))
        let loader = loader()
        #expect(try await status(loader, server.url(), delegate()) == 200)
        var request = try Request(server.url())
        request.fields[.authorization] = "Own"
        _ = try await loader.data(for: request)
        _ = try await loader.data(from: server.url().replacing("//", with: "//other:p@"))
        _ = try await loader.data(from: server.url().replacing("//", with: "//user:p1@"))
        storage.removeAll()
        _ = try await loader.data(from: server.url())
        #expect(Self.authorizations(server) == [nil, Self.basic, "Own", nil, Self.basic, nil])
    }

    @Test("A refused credential is removed, and the delegate receives a challenge with one failure")
    func refusedCredentialIsRemovedAndTheDelegateIsAsked() async throws {
        let server = try Self.server([Self.refusal(), Self.success(), Self.refusal(), Self.refusal()])
        let loader = loader()
        #expect(try await status(loader, server.url(), delegate()) == 200)
        let second = AnsweringDelegate { _ in .performDefault }
        #expect(try await status(loader, server.url(), second) == 401)
        #expect(second.challenges.map(\.failureCount) == [1] && storage.allCredentials.isEmpty)
        #expect(try await status(loader, server.url()) == 401)
        #expect(Self.authorizations(server) == [nil, Self.basic, Self.basic, nil])
    }

    @Test("After a load with Digest, requests in the paths of `domain` use the same nonce with the next count, RFC 7616 §3.3")
    func digestNonceIsReusedInThePathsOfDomain() async throws {
        let challenge = #"WWW-Authenticate: Digest realm="r", nonce="1", qop="auth", domain="/a /b/c http://other.test/""#
        let server = try Self.server([Self.refusal(challenge)] + Array(repeating: Self.success(), count: 5))
        let loader = loader()
        for (number, path) in ["/a", "/a/x", "/b/c/d", "/b", "/ab"].enumerated() {
            #expect(try await status(loader, server.url(path), number == 0 ? delegate() : nil) == 200)
        }
        let counts = Self.authorizations(server).map { value in
            value.flatMap { $0.firstMatch(of: /nc=([0-9a-f]{8})/) }.map { String($0.1) }
        }
        #expect(counts == [nil, "00000001", "00000002", "00000003", nil, nil])
    }

    @Test("The next nonce of Authentication-Info is used, with counts from 1, RFC 7616 §3.5")
    func nonceOfAuthenticationInfoIsUsed() async throws {
        let server = try Self.server([
            Self.refusal(#"WWW-Authenticate: Digest realm="r", nonce="1", qop="auth""#),
            Self.success(#"Authentication-Info: nextnonce="2""#), Self.success(#"Authentication-Info: nextnonce="3""#), Self.success(),
            Self.success(),
        ])
        let loader = loader()
        for number in 0..<4 { #expect(try await status(loader, server.url(), number == 0 ? delegate() : nil) == 200) }
        let nonceUses = Self.authorizations(server).compactMap { value in
            value.flatMap { $0.firstMatch(of: /nonce="(.)".*nc=([0-9a-f]{8})/) }.map { "\($0.1) \($0.2)" }
        }
        #expect(nonceUses == ["1 00000001", "2 00000001", "3 00000001", "3 00000002"])
    }

    @Test("If the server no longer accepts the nonce of an earlier load, its new nonce is used without a challenge of the delegate")
    func newNonceIsUsedWithoutAskingTheDelegate() async throws {
        func challenge(_ nonce: Int) -> String { #"WWW-Authenticate: Digest realm="r", nonce="\#(nonce)", qop="auth""# }
        let server = try Self.server([
            Self.refusal(challenge(1)), Self.success(), Self.refusal(challenge(2)), Self.success(), Self.success(),
        ])
        let loader = loader()
        #expect(try await status(loader, server.url(), delegate()) == 200)
        let cancellingDelegate = AnsweringDelegate { _ in .cancel }
        for _ in 0..<2 { #expect(try await status(loader, server.url(), cancellingDelegate) == 200) }
        #expect(cancellingDelegate.challenges.isEmpty && storage.allCredentials.count == 1)
        let nonces = Self.authorizations(server).compactMap { value in
            value.flatMap { $0.firstMatch(of: /nonce="(.)"/) }.map { String($0.1) }
        }
        #expect(nonces == ["1", "1", "2", "2"])
    }

    @Test("The debug log of refused and accepted credentials has no password")
    func logHidesPasswords() async throws {
        let server = try Self.server([Self.refusal(), Self.refusal(), Self.success(), Self.success(), Self.refusal()])
        let lines = Mutex<[String]>([])
        var configuration = loader().configuration
        var logger = Logger(label: "test") { _ in ClosureLogHandler { line in lines.withLock { $0.append(line) } } }
        logger.logLevel = .trace
        configuration.logger = logger
        let loader = Loader(configuration: configuration, registry: ProtocolRegistry())
        let answers = AnsweringDelegate { challenge in
            .use(
                .password(user: "user", password: challenge.previousFailureCount == 0 ? "wrong-secret" : "p1-secret", persistence: .loader))
        }
        for _ in 0..<3 { _ = try? await loader.data(for: Request(server.url()), delegate: answers) }
        let text = lines.withLock { $0.joined(separator: "\n") }
        #expect(text.contains("finished") && !text.contains("secret") && !text.contains("Basic "), "\(text)")
    }

    @Test("Parallel loads from Apache use one nonce, each with another count")
    func parallelLoadsUseOneNonceWithDifferentCounts() async throws {
        let url = try TestServers.shared.url(.apacheHTTP, "/private/secret.txt")
        let loader = loader()
        let first = AnsweringDelegate { challenge in
            challenge.previousFailureCount == 0
                ? .use(.password(user: "ishmael", password: "call-me", persistence: .loader)) : .performDefault
        }
        #expect(try await status(loader, url, first) == 200)
        let cancellingDelegate = AnsweringDelegate { _ in .cancel }
        try await withThrowingTaskGroup { group in
            for _ in 0..<16 { group.addTask { try await status(loader, url, cancellingDelegate) } }
            for try await status in group { #expect(status == 200) }
        }
        #expect(cancellingDelegate.challenges.isEmpty)
    }
}

/// A log handler that passes each line with its metadata to a closure.
private struct ClosureLogHandler: LogHandler {
    let write: @Sendable (String) -> Void
    var metadata: Logger.Metadata = [:]
    var logLevel = Logger.Level.trace

    init(write: @escaping @Sendable (String) -> Void) { self.write = write }

    subscript(metadataKey key: String) -> Logger.Metadata.Value? {
        get { metadata[key] }
        set { metadata[key] = newValue }
    }

    func log(event: LogEvent) { write("\(event.message) \(event.metadata ?? [:])") }
}
