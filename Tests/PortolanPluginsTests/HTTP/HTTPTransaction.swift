// SPDX-License-Identifier: Apache-2.0

import HTTPTypes
import PortolanCore
import PortolanTestSupport
import ServerSupport
import TestThreads
import Testing

/// A request, the scripts of two servers, and the events that the caller must receive with every handler.
struct HTTPTransaction: Sendable, CustomTestStringConvertible {
    enum Upload: Sendable {
        case none
        case bytes(Int)
        case file(Int)
        case stream([Int], hasKnownLength: Bool)
    }

    /// The scripts by connection. In a sent text, `{elsewhere}` stands for the URL of the other server.
    typealias Scripts = [[ScriptedServer.Step]]

    let name: String
    var method = HTTPRequest.Method.get
    var path = "/a/resource"
    /// `user:password@`
    var user = ""
    var fields: [(name: String, value: String)] = []
    var upload = Upload.none
    var scripts: Scripts = []
    /// The scripts of the other server, which is the target of redirects to another origin.
    var elsewhere: Scripts = []
    /// The answers to the challenges, by the number of previous failures.
    var credentials: [ChallengeAnswer] = []
    var redirects = HTTPEventRecorder.RedirectAction.follow
    var mode = RedirectPolicy.Mode.follow
    /// The beginnings of the lines that the caller receives, in this order.
    var expectedEvents: [String] = []
    /// The texts that the servers receive, in this order.
    var expectedRequests: [String] = []

    init(_ name: String, _ change: (inout Self) -> Void) {
        self.name = name
        change(&self)
    }

    var testDescription: String { name }

    /// A script that reads the head and `count` bytes, then sends the response.
    static func respond(_ text: String, after count: Int = 0) -> [ScriptedServer.Step] {
        [.receiveHead, .receive(count), .send(text: text)]
    }

    /// The result of the transaction, without port numbers.
    struct Outcome: Equatable {
        var events: [String] = []
        /// The received requests by connection, in order of acceptance.
        var received: [String] = []
        var violations: [ContractRule] = []
    }

    func run(on handlerKind: HTTPHandlerKind, pausing: Bool = false) async throws -> Outcome {
        let otherServer = try Self.makeServer(elsewhere)
        let server = try Self.makeServer(scripts, elsewhere: otherServer.url(""))
        let harness = try HTTPHarness(handlerKind) { $0.redirects.mode = mode }
        let folder = try TemporaryFolder()
        var request = try Request(server.url(path).replacing("//127", with: "//\(user)127"), method: method, body: body(in: folder))
        for field in fields { request.fields.append(HTTPField(name: try #require(.init(field.name)), value: field.value)) }
        let recorder = HTTPEventRecorder(answers: credentials, redirects: redirects, pauses: pausing)
        harness.loader.task(for: request, delegate: recorder).resume()
        await recorder.ended()
        let violations = try await harness.violations()
        func replacingPorts(_ text: String) -> String {
            text.replacing(":\(server.port)", with: ":HERE").replacing(":\(otherServer.port)", with: ":THERE")
        }
        let received = (server.connections + otherServer.connections).map { replacingPorts("\(ReceivedRequests($0.received))") }
        try await inOwnThread {
            server.close()
            otherServer.close()
        }
        return Outcome(events: recorder.lines.map(replacingPorts), received: received, violations: violations)
    }

    private static func makeServer(_ scripts: Scripts, elsewhere: String = "") throws -> ScriptedServer {
        let scripts = scripts.map { $0.map { $0.replacingElsewhere(elsewhere) } }
        return try ScriptedServer { $0 < scripts.count ? scripts[$0] : [.close] }
    }

    /// Letters, which can't be confused with the framing of chunks.
    static func letters(_ count: Int) -> [UInt8] { (0..<count).map { UInt8(ascii: "a") + UInt8($0 % 23) } }

    private func body(in folder: TemporaryFolder) throws -> Body? {
        switch upload {
        case .none: return nil
        case .bytes(let count): return .bytes(Self.letters(count))
        case .file(let count): return try .file(path: folder.write(Self.letters(count), to: "body"))
        case .stream(let counts, let hasKnownLength):
            let source = HandFedBody()
            for count in counts { source.feed(Self.letters(count)) }
            source.finish()
            return source.body(length: hasKnownLength ? Int64(counts.reduce(0, +)) : nil)
        }
    }
}

extension ScriptedServer.Step {
    fileprivate func replacingElsewhere(_ elsewhere: String) -> Self {
        guard case .send(let bytes) = self else { return self }
        return .send(text: String(decoding: bytes, as: UTF8.self).replacing("{elsewhere}", with: elsewhere))
    }
}
