// SPDX-License-Identifier: Apache-2.0

import HTTPTypes
import PortolanCore
import PortolanTestSupport
import ServerSupport
import TestThreads
import Testing

/// The HTTP fixture and the built-in handler report the same events of third-party servers.
@Suite(.timeLimit(.minutes(10))) struct HTTPFixtureServerTests {
    struct RequestCase: Sendable, CustomTestStringConvertible {
        let server: TestServer
        let path: String
        var method = HTTPRequest.Method.get
        var fields: [String: String] = [:]
        var uploadLength = 0
        var isChunked = false
        /// The password for the first challenge. A second challenge gets no credential.
        var password: String?
        /// A part of the last line of received events, or of the line before it.
        let expectedEvents: String

        var testDescription: String { "\(method) \(path) of \(server.rawValue)" }
    }

    static let requestCases = [
        RequestCase(server: .nginxHTTP, path: "/1MiB.bin", expectedEvents: "data 1048576 bytes"),
        RequestCase(server: .nginxHTTP, path: "/1MiB.bin", fields: ["Range": "bytes=1000-1999"], expectedEvents: "data 1000 bytes"),
        RequestCase(server: .nginxHTTP, path: "/1MiB.bin", fields: ["Range": "bytes=9999999-"], expectedEvents: "data"),
        RequestCase(server: .nginxHTTP, path: "/page.html", method: .head, expectedEvents: "response 200"),
        RequestCase(server: .nginxHTTP, path: "/empty.bin", expectedEvents: "response 200"),
        RequestCase(server: .nginxHTTP, path: "/chunked/page.html", expectedEvents: "data"),
        RequestCase(server: .nginxHTTP, path: "/closing/1MiB.bin", expectedEvents: "data 1048576 bytes"),
        RequestCase(server: .nginxHTTP, path: "/trailers/hello.txt", expectedEvents: "trailers [\"x-checksum: abc\", \"x-status: 200\"]"),
        RequestCase(server: .nginxHTTP, path: "/private/secret.txt", password: "", expectedEvents: "data"),
        RequestCase(server: .nginxHTTP, path: "/private/secret.txt", password: "wrong", expectedEvents: "data"),
        RequestCase(server: .nginxHTTP, path: "/redirect/to?url=/hello.txt", expectedEvents: "data 'Hello\n'"),
        RequestCase(server: .nginxHTTP, path: "/redirect/loop", expectedEvents: "failed tooManyRedirects"),
        RequestCase(server: .nginxHTTP, path: "/status/503", expectedEvents: "data"),
        RequestCase(server: .nginxHTTP, path: "/hangup", expectedEvents: "failed emptyResponse"),
        RequestCase(server: .nginxHTTP, path: "/consume", method: .post, uploadLength: 1 << 20, expectedEvents: "data"),
        RequestCase(
            server: .nginxHTTP, path: "/consume", method: .post, fields: ["Expect": "100-continue"], uploadLength: 100_000,
            expectedEvents: "data"
        ),
        RequestCase(server: .nginxHTTP, path: "/consume", method: .post, uploadLength: 100_000, isChunked: true, expectedEvents: "data"),
        RequestCase(
            server: .httpbin, path: "/put?a=b", method: .put, fields: ["Content-Type": "text/plain"], uploadLength: 1000,
            expectedEvents: "data"),
        RequestCase(server: .httpbin, path: "/post", method: .post, uploadLength: 1000, isChunked: true, expectedEvents: "data"),
        RequestCase(server: .httpbin, path: "/redirect/3", expectedEvents: "data"),
        RequestCase(server: .httpbin, path: "/redirect-to?url=%2Fget&status_code=307", method: .get, expectedEvents: "data"),
        RequestCase(server: .httpbin, path: "/range/100", fields: ["Range": "bytes=10-19"], expectedEvents: "data 'klmnopqrst'"),
        RequestCase(server: .httpbin, path: "/status/418", expectedEvents: "data"),
    ]

    @Test(arguments: requestCases, HTTPHandlerKind.plugins)
    func pluginAndBuiltInHandlerBehaveTheSame(requestCase: RequestCase, handlerKind: HTTPHandlerKind) async throws {
        let (plugin, builtIn) = (try await Self.run(requestCase, handlerKind), try await Self.run(requestCase, .builtIn))
        #expect(plugin == builtIn)
        #expect(builtIn.suffix(2).contains { $0.hasPrefix(requestCase.expectedEvents) }, "\(builtIn)")
    }

    private static func run(_ requestCase: RequestCase, _ handlerKind: HTTPHandlerKind) async throws -> [String] {
        let servers = try await inOwnThread { try TestServers.shared }
        let harness = try HTTPHarness(handlerKind)
        var body: Body?
        if requestCase.isChunked {
            let source = HandFedBody()
            for start in stride(from: 0, to: requestCase.uploadLength, by: 7000) {
                source.feed(HTTPTransaction.letters(min(7000, requestCase.uploadLength - start)))
            }
            source.finish()
            body = source.body(length: nil)
        } else if requestCase.uploadLength > 0 {
            body = .bytes(HTTPTransaction.letters(requestCase.uploadLength))
        }
        var request = try Request(
            servers.url(requestCase.server, requestCase.path, host: "127.0.0.1"), method: requestCase.method, body: body)
        for (name, value) in requestCase.fields { request.fields.append(HTTPField(name: try #require(.init(name)), value: value)) }
        let password = requestCase.password.map { $0.isEmpty ? servers.password : $0 }
        let recorder = HTTPEventRecorder(answers: password.map { [.use(.password(user: servers.user, password: $0))] } ?? [])
        harness.loader.task(for: request, delegate: recorder).resume()
        await recorder.ended()
        #expect(try await harness.violations() == [])
        return recorder.lines
    }
}
