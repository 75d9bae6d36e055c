// SPDX-License-Identifier: Apache-2.0

import Foundation
import HTTPTypes
import PortolanCore
import PortolanHTTP
import PortolanTransport
import ServerSupport
import Testing

/// Loads with Digest authentication: from Apache, from httpbin, and from scripted servers.
@Suite(.timeLimit(.minutes(10))) struct DigestLoadTests {
    private static func load(_ request: Request, _ delegate: AnsweringDelegate? = nil) async throws -> (text: String, status: Int?) {
        let (body, response) = try await Loader.http().data(for: request, delegate: delegate)
        return (String(decoding: body, as: UTF8.self), response.status?.code)
    }

    private static func refusal(_ challenges: String...) -> String {
        "HTTP/1.1 401 Who\r\n" + challenges.map { "WWW-Authenticate: \($0)\r\n" }.joined() + "Content-Length: 2\r\n\r\nno"
    }

    private static func success(_ fields: String...) -> String {
        "HTTP/1.1 200 OK\r\n" + fields.map { $0 + "\r\n" }.joined() + "Content-Length: 3\r\n\r\nyes"
    }

    private static func server(_ responses: String...) throws -> ScriptedServer {
        try ScriptedServer(responses.flatMap(ScriptedServer.responding))
    }

    /// The `Authorization` field of each request.
    private static func authorizations(_ server: ScriptedServer) -> [String?] {
        server.connections.flatMap { connection in
            connection.text.components(separatedBy: "\r\n\r\n").dropLast().map { head in
                head.components(separatedBy: "\r\n").first { $0.hasPrefix("Authorization: ") }.map { String($0.dropFirst(15)) }
            }
        }
    }

    @Test(arguments: [TestServer.apacheHTTP, .apacheHTTPS]) func apacheAcceptsTheResponse(server: TestServer) async throws {
        let servers = try TestServers.shared
        let url = try servers.url(server, "/private/secret.txt?a=\"b\"").replacing("//", with: "//ishmael:call-me@")
        let authority = try servers.path(of: .authority)
        let loader = Loader.http { $0.tls.trustRoots = .only([.file(path: authority)]) }
        for _ in 0..<2 {
            let (_, response) = try await loader.data(from: url)
            #expect(response.status == .ok)
        }
        let (_, refused) = try await loader.data(from: url.replacing("call-me", with: "wrong"))
        #expect(refused.status == .unauthorized)
    }

    @Test(arguments: ["auth", "auth-int"], ["MD5", "SHA-256"]) func httpbinAcceptsTheResponse(qop: String, algorithm: String) async throws {
        let url = try TestServers.shared.url(.httpbin, "/digest-auth/\(qop)/user/passwd/\(algorithm)")
            .replacing("//", with: "//user:passwd@")
        let (text, status) = try await Self.load(Request(url))
        #expect(status == 200 && text.contains("\"authenticated\": true"), "\(text)")
    }

    /// The requests' lengths and bodies: `POST` with a body of four bytes, to a server with these responses. The server
    /// accepts the first request, sends a challenge, or redirects.
    @Test(arguments: [
        ([refusal(#"Digest realm="r", nonce="n""#), success()], [0, 4], 200), ([success(), success()], [0, 4], 200),
        (["HTTP/1.1 500 No\r\nContent-Length: 0\r\n\r\n"], [0], 500),
        ([refusal(#"Digest realm="r", nonce="n""#), refusal(#"Digest realm="r", nonce="m", stale=true"#), success()], [0, 4, 4], 200),
    ])
    func delayedBodyIsSentAfterTheChallenge(responses: [String], lengths: [Int], status: Int) async throws {
        let steps = zip(responses, lengths).flatMap { response, length -> [ScriptedServer.Step] in
            [.receiveHead] + (length > 0 ? [.receive(length)] : []) + [.send(text: response)]
        }
        let server = try ScriptedServer(steps)
        for isRewindable in [true, false] where isRewindable || responses.count < 3 {
            var request = try Request(server.url().replacing("//", with: "//u:p@"), method: .post)
            let body = Body.bytes(Array("body".utf8))
            request.body = isRewindable ? body : Body(length: 4, isRewindable: false) { () throws(LoadError) in try body.makeReader() }
            request.delaysBodyUntilChallenge = true
            #expect(try await Self.load(request).status == status)
            let text = try #require(server.connections.last).text
            let received = text.components(separatedBy: "Content-Length: ").dropFirst().map { String($0.prefix { $0.isNumber }) }
            #expect(received == lengths.map(String.init), "\(text)")
            #expect(text.components(separatedBy: "\r\n\r\nbody").count - 1 == lengths.count { $0 == 4 })
        }
    }

    /// A server accepts each count of a nonce once (RFC 7616 §3.4), also if it sends the nonce to every load.
    @Test func loadsCountTheUsesOfANonceTogether() async throws {
        let refusal = Self.refusal(#"Digest realm="r", nonce="n", qop="auth""#)
        let server = try Self.server(refusal, Self.success(), refusal, Self.success(), refusal, Self.success())
        let loader = Loader.http()
        let url = server.url().replacing("//", with: "//u:p@")
        for _ in 0..<2 {
            let (_, response) = try await loader.data(from: url)
            #expect(response.status == .ok)
        }
        // Another handler has its own counts.
        _ = try await Loader.http().data(from: url)
        let counts = Self.authorizations(server).map { $0?.split(separator: "nc=").last?.prefix(8) }
        #expect(counts.compactMap { $0 } == ["00000001", "00000002", "00000001"], "\(counts)")
    }

    @Test func staleNonceIsRenewedWithoutTheDelegate() async throws {
        let server = try Self.server(
            Self.refusal(#"Digest realm="r", nonce="1", qop="auth""#),
            Self.refusal(#"Digest realm="r", nonce="2", qop="auth", stale=true"#),
            Self.success())
        let delegate = AnsweringDelegate(passwords: "p1")
        #expect(try await Self.load(Request(server.url()), delegate) == ("yes", 200))
        #expect(delegate.challenges.map(\.failureCount) == [0] && delegate.challenges.first?.space.kind == .password(scheme: "digest"))
        let sent = Self.authorizations(server)
        #expect(sent.count == 3 && sent[1]?.contains(#"nonce="1""#) == true && sent[2]?.contains(#"nonce="2""#) == true)
        #expect(sent.allSatisfy { $0?.contains("p1") != true })
    }

    @Test func wrongPasswordIsChallengedAgain() async throws {
        let server = try Self.server(
            Self.refusal(#"Digest realm="r", nonce="1", qop="auth""#), Self.refusal(#"Digest realm="r", nonce="2", qop="auth""#),
            Self.success())
        let delegate = AnsweringDelegate(passwords: "p1", "p2")
        #expect(try await Self.load(Request(server.url()), delegate) == ("yes", 200))
        #expect(delegate.challenges.map(\.failureCount) == [0, 1])
    }

    /// The password of the URL must not go to a server that offers Basic after Digest.
    @Test func passwordIsNotSentByBasicAfterDigest() async throws {
        let server = try Self.server(
            Self.refusal(#"Digest realm="r", nonce="1", qop="auth""#), Self.refusal(#"Basic realm="r""#), Self.success())
        #expect(try await Self.load(Request(server.url().replacing("//", with: "//user:p1@"))) == ("no", 401))
        let sent = Self.authorizations(server)
        #expect(sent.count == 2 && sent.allSatisfy { $0?.hasPrefix("Basic") != true })
    }

    @Test func strongestOfSeveralChallengesIsAnswered() async throws {
        let server = try Self.server(
            Self.refusal(
                #"Basic realm="r", Digest realm="r", nonce="1", algorithm=MD5"#, #"Digest realm="r", nonce="2", algorithm=SHA-256"#),
            Self.success())
        #expect(try await Self.load(Request(server.url().replacing("//", with: "//user:p1@"))) == ("yes", 200))
        #expect(Self.authorizations(server).last??.contains(#"nonce="2", uri="/", algorithm=SHA-256"#) == true)
    }

    @Test func redirectedRequestHasADigestForItsOwnTarget() async throws {
        let server = try Self.server(
            Self.refusal(#"Digest realm="r", nonce="1""#), "HTTP/1.1 302 Found\r\nLocation: /b\r\nContent-Length: 0\r\n\r\n", Self.success()
        )
        #expect(try await Self.load(Request(server.url("/a").replacing("//", with: "//user:p1@"))) == ("yes", 200))
        let sent = Self.authorizations(server)
        #expect(sent.count == 3 && sent[0] == nil)
        #expect(sent[1]?.contains(#"uri="/a""#) == true && sent[2]?.contains(#"uri="/b""#) == true)
    }

    @Test func wrongResponseAuthFailsTheLoad() async throws {
        let server = try Self.server(
            Self.refusal(#"Digest realm="r", nonce="1", qop="auth""#), Self.success(#"Authentication-Info: rspauth="00""#))
        let error = await #expect(throws: LoadError.self) { try await Self.load(Request(server.url().replacing("//", with: "//user:p1@"))) }
        #expect(error?.code == .badResponse && error?.message.contains("rspauth") == true, "\(error?.message ?? "")")
    }

    /// RFC 9110 §11.6.3
    @Test func wrongResponseAuthInATrailerFailsTheLoad() async throws {
        let success =
            "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\nTrailer: Authentication-Info\r\n\r\n3\r\nyes\r\n0\r\nAuthentication-Info: "
        for (info, isWrong) in [(#"rspauth="00""#, true), ("nextnonce=m", false)] {
            let server = try Self.server(Self.refusal(#"Digest realm="r", nonce="1", qop="auth""#), "\(success)\(info)\r\n\r\n")
            do {
                let loaded = try await Self.load(Request(server.url().replacing("//", with: "//user:p1@")))
                #expect(!isWrong && loaded == ("yes", 200))
            } catch let error as LoadError {
                #expect(isWrong && error.code == .badResponse && error.message.contains("rspauth"), "\(error)")
            }
        }
    }

    @Test func bodyOfAuthIntIsHashedAndSent() async throws {
        let challenge = Self.refusal(#"Digest realm="r", nonce="1", qop="auth-int""#)
        let server = try ScriptedServer(
            [.receiveHead, .receive(4), .send(text: challenge), .receiveHead, .receive(4), .send(text: Self.success())])
        let url = server.url().replacing("//", with: "//user:p1@")
        #expect(try await Self.load(Request(url, method: .post, body: .text("body"))) == ("yes", 200))
        #expect(Self.authorizations(server).last??.contains("qop=auth-int") == true)
        // A body that can be read only once can not be hashed and then sent.
        let streamBody = Body.stream(
            AsyncStream<[UInt8]> {
                $0.yield(Array("body".utf8)); $0.finish()
            }, length: 4)
        let other = try ScriptedServer([.receiveHead, .receive(4), .send(text: challenge)])
        let delegate = AnsweringDelegate(passwords: "p1")
        let error = await #expect(throws: LoadError.self) {
            try await Self.load(Request(other.url(), method: .post, body: streamBody), delegate)
        }
        #expect(error?.code == .bodyFailed || error?.code == .authenticationRequired, "\(error?.message ?? "")")
    }
}
