// SPDX-License-Identifier: Apache-2.0

import HTTPTypes
import PortolanCore
import PortolanTestSupport
import ServerSupport
import TestThreads
import Testing

/// The plugin and the built-in handler with third-party servers.
@Suite(.timeLimit(.minutes(10))) struct HTTPFixtureServerTests {
    struct Load: Sendable, CustomTestStringConvertible {
        let server: TestServer
        let path: String
        var method = HTTPRequest.Method.get
        var fields: [String: String] = [:]
        var upload = 0
        var isChunked = false
        /// The password for the first challenge. A second challenge gets no credential.
        var password: String?
        /// A part of the last line of received events, or of the line before it.
        let expectedEvents: String

        var testDescription: String { "\(method) \(path) of \(server.rawValue)" }
    }

    static let loads = [
        Load(server: .nginxHTTP, path: "/1MiB.bin", expectedEvents: "data 1048576 bytes"),
        Load(server: .nginxHTTP, path: "/1MiB.bin", fields: ["Range": "bytes=1000-1999"], expectedEvents: "data 1000 bytes"),
        Load(server: .nginxHTTP, path: "/1MiB.bin", fields: ["Range": "bytes=9999999-"], expectedEvents: "data"),
        Load(server: .nginxHTTP, path: "/page.html", method: .head, expectedEvents: "response 200"),
        Load(server: .nginxHTTP, path: "/empty.bin", expectedEvents: "response 200"),
        Load(server: .nginxHTTP, path: "/chunked/page.html", expectedEvents: "data"),
        Load(server: .nginxHTTP, path: "/closing/1MiB.bin", expectedEvents: "data 1048576 bytes"),
        Load(server: .nginxHTTP, path: "/trailers/hello.txt", expectedEvents: "trailers [\"x-checksum: abc\", \"x-status: 200\"]"),
        Load(server: .nginxHTTP, path: "/private/secret.txt", password: "", expectedEvents: "data"),
        Load(server: .nginxHTTP, path: "/private/secret.txt", password: "wrong", expectedEvents: "data"),
        Load(server: .nginxHTTP, path: "/redirect/to?url=/hello.txt", expectedEvents: "data 'Hello\n'"),
        Load(server: .nginxHTTP, path: "/redirect/loop", expectedEvents: "failed tooManyRedirects"),
        Load(server: .nginxHTTP, path: "/status/503", expectedEvents: "data"),
        Load(server: .nginxHTTP, path: "/hangup", expectedEvents: "failed emptyResponse"),
        Load(server: .nginxHTTP, path: "/consume", method: .post, upload: 1 << 20, expectedEvents: "data"),
        Load(
            server: .nginxHTTP, path: "/consume", method: .post, fields: ["Expect": "100-continue"], upload: 100_000, expectedEvents: "data"
        ),
        Load(server: .nginxHTTP, path: "/consume", method: .post, upload: 100_000, isChunked: true, expectedEvents: "data"),
        Load(
            server: .httpbin, path: "/put?a=b", method: .put, fields: ["Content-Type": "text/plain"], upload: 1000, expectedEvents: "data"),
        Load(server: .httpbin, path: "/post", method: .post, upload: 1000, isChunked: true, expectedEvents: "data"),
        Load(server: .httpbin, path: "/redirect/3", expectedEvents: "data"),
        Load(server: .httpbin, path: "/redirect-to?url=%2Fget&status_code=307", method: .get, expectedEvents: "data"),
        Load(server: .httpbin, path: "/range/100", fields: ["Range": "bytes=10-19"], expectedEvents: "data 'klmnopqrst'"),
        Load(server: .httpbin, path: "/status/418", expectedEvents: "data"),
    ]

    @Test(arguments: loads, HTTPSide.plugins)
    func pluginAndBuiltInHandlerBehaveTheSame(load: Load, side: HTTPSide) async throws {
        let (plugin, builtIn) = (try await Self.run(load, side), try await Self.run(load, .builtIn))
        #expect(plugin == builtIn)
        #expect(builtIn.suffix(2).contains { $0.hasPrefix(load.expectedEvents) }, "\(builtIn)")
    }

    private static func run(_ load: Load, _ side: HTTPSide) async throws -> [String] {
        let servers = try await inOwnThread { try TestServers.shared }
        let harness = try HTTPHarness(side)
        var body: Body?
        if load.isChunked {
            let source = HandFedBody()
            for start in stride(from: 0, to: load.upload, by: 7000) { source.feed(HTTPTransaction.letters(min(7000, load.upload - start))) }
            source.finish()
            body = source.body(length: nil)
        } else if load.upload > 0 {
            body = .bytes(HTTPTransaction.letters(load.upload))
        }
        var request = try Request(servers.url(load.server, load.path, host: "127.0.0.1"), method: load.method, body: body)
        for (name, value) in load.fields { request.fields.append(HTTPField(name: try #require(.init(name)), value: value)) }
        let password = load.password.map { $0.isEmpty ? servers.password : $0 }
        let recorder = HTTPEventRecorder(answers: password.map { [.use(.password(user: servers.user, password: $0))] } ?? [])
        harness.loader.task(for: request, delegate: recorder).resume()
        await recorder.ended()
        #expect(try await harness.violations() == [])
        return recorder.lines
    }
}
