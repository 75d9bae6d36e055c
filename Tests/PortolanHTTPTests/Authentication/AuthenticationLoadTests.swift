// SPDX-License-Identifier: Apache-2.0

import Foundation
import HTTPTypes
import PortolanCore
import PortolanHTTP
import ServerSupport
import Synchronization
import Testing

@Suite("A server that responds with 401", .timeLimit(.minutes(10)))
struct AuthenticationLoadTests {
    private static let refusal = "HTTP/1.1 401 Who\r\nWWW-Authenticate: Basic realm=\"r\"\r\nContent-Length: 2\r\n\r\nno"
    private static let success = "HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\nyes"

    /// A server that sends these responses on one connection, one after the other.
    private static func server(_ responses: String...) throws -> ScriptedServer {
        try ScriptedServer(responses.flatMap(ScriptedServer.responding))
    }

    /// The `Authorization` field of each request; `nil` for a request without one.
    private static func authorizations(_ server: ScriptedServer) -> [String?] {
        server.connections.flatMap { connection in
            connection.text.components(separatedBy: "\r\n\r\n").dropLast().map { head in
                head.components(separatedBy: "\r\n").first { $0.lowercased().hasPrefix("authorization: ") }.map { String($0.dropFirst(15)) }
            }
        }
    }

    /// The `Authorization` field of user `user` with this password.
    private static func basic(_ password: String) -> String {
        "Basic " + ["p1": "dXNlcjpwMQ==", "p2": "dXNlcjpwMg==", "p3": "dXNlcjpwMw=="][password, default: "?"]
    }

    /// Loads the URL, and returns the body and the status of the response.
    private static func load(_ url: String, _ delegate: AnsweringDelegate? = nil) async throws -> (text: String, status: Int?) {
        let (body, response) = try await Loader.http().data(for: Request(url), delegate: delegate)
        return (String(decoding: body, as: UTF8.self), response.status?.code)
    }

    @Test func credentialOfTheURLIsUsedBeforeTheDelegateIsChallenged() async throws {
        let server = try Self.server(Self.refusal, Self.success)
        let delegate = AnsweringDelegate { _ in .cancel }
        let url = server.url("/a").replacing("//", with: "//user:p%31@")
        #expect(try await Self.load(url, delegate) == ("yes", 200))
        #expect(delegate.challenges.isEmpty)
        #expect(Self.authorizations(server) == [nil, Self.basic("p1")])
        try #require(!server.connections.isEmpty)
        let text = server.connections[0].text
        #expect(text.hasPrefix("GET /a HTTP/1.1\r\n") && !text.contains("user") && !text.contains("p1"))
    }

    @Test func wrongPasswordIsChallengedAgainOnTheSameConnection() async throws {
        let server = try Self.server(Self.refusal, Self.refusal, Self.refusal, Self.success)
        let delegate = AnsweringDelegate(passwords: "p1", "p2", "p3")
        #expect(try await Self.load(server.url(), delegate) == ("yes", 200))
        #expect(delegate.challenges.map(\.failureCount) == [0, 1, 2])
        #expect(delegate.challenges.map { $0.previousError == nil } == [true, false, false])
        #expect(
            delegate.challenges.first?.space
                == ProtectionSpace(
                    kind: .password(scheme: "basic"), protocolName: "http", host: "127.0.0.1", port: server.port, realm: "r", isProxy: false
                ))
        #expect(Self.authorizations(server) == [nil, Self.basic("p1"), Self.basic("p2"), Self.basic("p3")])
        #expect(server.connections.count == 1)
    }

    @Test func wrongPasswordOfTheURLCountsAsAFailure() async throws {
        let server = try Self.server(Self.refusal, Self.refusal, Self.success)
        let delegate = AnsweringDelegate { _ in .use(.password(user: "user", password: "p2")) }
        #expect(try await Self.load(server.url().replacing("//", with: "//user:p1@"), delegate) == ("yes", 200))
        #expect(delegate.challenges.map(\.failureCount) == [1])
    }

    @Test(arguments: [ChallengeAnswer.continueWithoutCredential, .performDefault])
    func the401IsDeliveredIfTheDelegateContinuesWithoutACredential(_ answer: ChallengeAnswer) async throws {
        let server = try Self.server(Self.refusal)
        #expect(try await Self.load(server.url(), AnsweringDelegate { _ in answer }) == ("no", 401))
    }

    @Test func the401IsDeliveredToALoadWithoutADelegate() async throws {
        let server = try Self.server(Self.refusal)
        #expect(try await Self.load(server.url()) == ("no", 401))
    }

    @Test(arguments: [
        "HTTP/1.1 401 Who\r\nContent-Length: 2\r\n\r\nno",
        "HTTP/1.1 401 Who\r\nWWW-Authenticate: SCRAM-SHA-256 realm=\"r\"\r\nWWW-Authenticate: Digest realm=\"r\"\r\nContent-Length: 2\r\n\r\nno",
        "HTTP/1.1 401 Who\r\nWWW-Authenticate: \"\r\nContent-Length: 2\r\n\r\nno",
        "HTTP/1.1 401 Who\r\nProxy-Authenticate: Basic realm=\"r\"\r\nContent-Length: 2\r\n\r\nno",
    ])
    func the401IsDeliveredIfNoSchemeIsSupported(_ response: String) async throws {
        let server = try Self.server(response)
        let delegate = AnsweringDelegate { _ in .cancel }
        #expect(try await Self.load(server.url(), delegate) == ("no", 401))
        #expect(delegate.challenges.isEmpty)
    }

    @Test func supportedSchemeIsUsedAfterUnsupportedOnes() async throws {
        let refusal =
            "HTTP/1.1 401 Who\r\nWWW-Authenticate: Negotiate\r\nWWW-Authenticate: Mutual realm=\"a, Basic realm=b\", nonce=\"n\", Basic realm=\"c\"\r\n"
            + "Content-Length: 0\r\n\r\n"
        let server = try Self.server(refusal, Self.success)
        let delegate = AnsweringDelegate(passwords: "p1")
        #expect(try await Self.load(server.url(), delegate) == ("yes", 200))
        #expect(delegate.challenges.map(\.space.realm) == ["c"])
    }

    @Test func cancellingTheChallengeFailsTheLoad() async throws {
        let server = try Self.server(Self.refusal)
        let error = await #expect(throws: LoadError.self) { try await Self.load(server.url(), AnsweringDelegate { _ in .cancel }) }
        #expect(error?.code == .authenticationCancelled)
    }

    @Test func rejectedRealmLeadsToAChallengeForTheNextRealm() async throws {
        let refusal = "HTTP/1.1 401 Who\r\nWWW-Authenticate: Basic realm=\"a\", Basic realm=\"b\"\r\nContent-Length: 0\r\n\r\n"
        let server = try Self.server(refusal, Self.success)
        let delegate = AnsweringDelegate {
            $0.protectionSpace.realm == "a" ? .rejectProtectionSpace : .use(.password(user: "user", password: "p1"))
        }
        #expect(try await Self.load(server.url(), delegate) == ("yes", 200))
        #expect(delegate.challenges.map(\.space.realm) == ["a", "b"])
        let second = try Self.server(refusal)
        let error = await #expect(throws: LoadError.self) {
            try await Self.load(second.url(), AnsweringDelegate { _ in .rejectProtectionSpace })
        }
        #expect(error?.code == .authenticationRequired)
    }

    @Test func the401IsDeliveredAfterEightWrongPasswords() async throws {
        let server = try ScriptedServer([.forever(ScriptedServer.responding(Self.refusal))])
        let delegate = AnsweringDelegate { _ in .use(.password(user: "user", password: "p1")) }
        #expect(try await Self.load(server.url(), delegate) == ("no", 401))
        #expect(delegate.challenges.map(\.failureCount) == Array(0..<8))
    }

    @Test func the401IsDeliveredIfEachResponseHasAnotherRealm() async throws {
        let server = try ScriptedServer(
            (0..<100).flatMap { number in
                ScriptedServer.responding("HTTP/1.1 401 Who\r\nWWW-Authenticate: Basic realm=\"\(number)\"\r\nContent-Length: 2\r\n\r\nno")
            })
        #expect(try await Self.load(server.url().replacing("//", with: "//user:p1@")) == ("no", 401))
        #expect(Self.authorizations(server).count == 9)
    }

    @Test func userNameWithAColonIsNotSent() async throws {
        let server = try Self.server(Self.refusal)
        let delegate = AnsweringDelegate { _ in .use(.password(user: "a:b", password: "s3cret")) }
        let error = await #expect(throws: LoadError.self) { try await Self.load(server.url(), delegate) }
        #expect(error?.code == .authenticationRequired && error?.message.contains("colon") == true)
        #expect(error?.message.contains("s3cret") == false)
        #expect(Self.authorizations(server) == [nil])
    }

    @Test func bodyIsSentAgainWithTheCredential() async throws {
        let server = try ScriptedServer([
            .receiveHead, .receive(4), .send(text: Self.refusal), .receiveHead, .receive(4), .send(text: Self.success),
        ])
        let request = try Request(server.url(), method: .post, body: .text("body"))
        let (body, _) = try await Loader.http().data(for: request, delegate: AnsweringDelegate(passwords: "p1"))
        #expect(String(decoding: body, as: UTF8.self) == "yes")
        try #require(!server.connections.isEmpty)
        #expect(server.connections[0].text.components(separatedBy: "body").count == 3)
    }

    @Test func credentialIsSentOnANewConnectionAfterAClose() async throws {
        let server = try ScriptedServer(
            [.receiveHead, .send(text: "HTTP/1.1 401 Who\r\nWWW-Authenticate: Basic\r\nConnection: close\r\n\r\nno"), .close],
            ScriptedServer.responding(Self.success))
        let delegate = AnsweringDelegate(passwords: "p1")
        #expect(try await Self.load(server.url(), delegate) == ("yes", 200))
        #expect(Self.authorizations(server) == [nil, Self.basic("p1")])
        #expect(delegate.challenges.map(\.space.realm) == [nil])
    }

    @Test func credentialIsNotSentToAnotherOrigin() async throws {
        let other = try Self.server(Self.success)
        let server = try Self.server(
            Self.refusal, "HTTP/1.1 302 Here\r\nLocation: /b\r\nContent-Length: 0\r\n\r\n",
            "HTTP/1.1 302 There\r\nLocation: \(other.url())\r\nContent-Length: 0\r\n\r\n")
        #expect(try await Self.load(server.url("/a"), AnsweringDelegate(passwords: "p1")) == ("yes", 200))
        #expect(Self.authorizations(server) == [nil, Self.basic("p1"), Self.basic("p1")])
        #expect(Self.authorizations(other) == [nil])
    }

    @Test func answerAfterACancelSendsNoRequest() async throws {
        let server = try Self.server(Self.refusal)
        let challenged = try Gate()
        let delegate = AnsweringDelegate({ _ in nil }, whenChallenged: { challenged.open() })
        let loader = Loader.http()
        let url = server.url()
        let load = Task { try await loader.data(for: Request(url), delegate: delegate) }
        try await challenged.wait()
        load.cancel()
        let error = await #expect(throws: LoadError.self) { try await load.value }
        #expect(error?.code == .cancelled)
        for challenge in delegate.unansweredChallenges { challenge.answer(.use(.password(user: "user", password: "p1"))) }
        // The connection became idle after the refusal. No request is sent on it with that password.
        #expect(Self.authorizations(server) == [nil])
    }

    // MARK: Delegates that observe resends

    /// Answers with passwords, one after the other, and records each resend and its reason.
    private final class ResendRecordingDelegate: LoadDelegate {
        let resends = Mutex<[String]>([])
        let refusals = Mutex<[Int?]>([])
        private let passwords: [String]

        init(_ passwords: String...) { self.passwords = passwords }

        func loadTask(_ task: LoadTask, willResendAfter response: Response) {
            resends.withLock { $0.append("\(response.status?.code ?? 0) \(response.fields[.wwwAuthenticate] ?? "")") }
        }

        func loadTask(_ task: LoadTask, didReceive challenge: AuthenticationChallenge) {
            refusals.withLock { $0.append(challenge.failureResponse?.status?.code) }
            let count = challenge.previousFailureCount
            challenge.answer(
                count < passwords.count ? .use(.password(user: "user", password: passwords[count])) : .continueWithoutCredential)
        }
    }

    private static func loadStatus(_ url: String, _ delegate: ResendRecordingDelegate) async throws -> Int? {
        try await Loader.http().data(for: Request(url), delegate: delegate).1.status?.code
    }

    /// If the credential of the URL is used, the delegate receives no challenge, but it is notified of the resend.
    @Test(arguments: ["//", "//user:p1@"]) func delegateReceivesEachResendAndItsReason(_ user: String) async throws {
        let server = try Self.server(Self.refusal, Self.refusal, Self.success)
        let delegate = ResendRecordingDelegate("p1", "p2")
        #expect(try await Self.loadStatus(server.url().replacing("//", with: user), delegate) == 200)
        #expect(delegate.resends.withLock { $0 } == ["401 Basic realm=\"r\"", "401 Basic realm=\"r\""])
        #expect(delegate.refusals.withLock { $0 } == (user == "//" ? [401, 401] : [401]))
    }

    @Test func delivered401IsNotReportedAsAResend() async throws {
        let server = try Self.server(Self.refusal, Self.refusal)
        let delegate = ResendRecordingDelegate("p1")
        #expect(try await Self.loadStatus(server.url(), delegate) == 401)
        #expect(delegate.resends.withLock { $0 }.count == 1)
        #expect(delegate.refusals.withLock { $0 } == [401, 401])
    }

    @Test func resendAfterA417IsReported() async throws {
        let server = try ScriptedServer(
            [.receiveHead, .send(text: "HTTP/1.1 417 No\r\nContent-Length: 0\r\nConnection: close\r\n\r\n")],
            [.receiveHead, .receive(5), .send(text: Self.success)])
        let delegate = ResendRecordingDelegate()
        let request = try Request(server.url(), method: .put, body: .text("hello"))
        let loader = Loader.http {
            $0.expectContinue.bodySizeThreshold = 1
            $0.expectContinue.timeout = .seconds(600)
        }
        #expect(try await loader.data(for: request, delegate: delegate).1.status?.code == 200)
        #expect(delegate.resends.withLock { $0 } == ["417 "])
    }
}
