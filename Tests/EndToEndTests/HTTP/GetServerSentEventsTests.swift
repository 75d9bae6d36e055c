// SPDX-License-Identifier: Apache-2.0

import Foundation
import ServerSupport
import TestThreads
import Testing

/// `get --sse`
@Suite(.blocking, .timeLimit(.minutes(2))) struct GetServerSentEventsTests {
    private let program: Program

    init() throws { program = try Program() }

    private static let head = "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n\r\n"

    /// The server ends the first connection, and the stream on the second one.
    private static func server() throws -> ScriptedServer {
        try ScriptedServer { connection in
            connection == 0
                ? [.receiveHead, .send(text: head + "retry: 1\nid: 7\nevent: tide\ndata: high\ndata: water\n\ndata: {}\n\n"), .close]
                : ScriptedServer.responding("HTTP/1.1 204 No Content\r\n\r\n")
        }
    }

    @Test func dataOfEachEventIsPrinted() throws {
        let server = try Self.server()
        let outcome = try program.run("get", "--sse", server.url())
        #expect(outcome.text == "high\nwater\n{}\n" && outcome.status == 0 && outcome.errors.isEmpty)
        #expect(server.connections.count == 2)
        #expect(String(decoding: server.connections[1].received, as: UTF8.self).contains("Last-Event-ID: 7\r\n"))
    }

    @Test func jsonHasTheWholeEvent() throws {
        let server = try Self.server()
        let outcome = try program.run("get", "--sse", "--events", server.url())
        #expect(
            outcome.text == #"{"type":"tide","id":"7","data":"high\nwater"}"# + "\n" + #"{"type":"message","id":"7","data":"{}"}"# + "\n")
    }

    @Test func refusalIsReported() throws {
        let missing = try ScriptedServer(ScriptedServer.response("404 Not Found", [], "none"))
        let outcome = try program.run("get", "--sse", missing.url())
        #expect(outcome.status == 22 && outcome.errors == ["portolan: the response for \(missing.url()) is 404 Not Found"])
        let page = try ScriptedServer(ScriptedServer.response("200 OK", ["Content-Type: text/html"], "page"))
        #expect(try program.run("get", "--sse", page.url()).errors.first?.contains("events need 'text/event-stream'") == true)
        #expect(try program.run("get", "--sse", "-o", "out", page.url()).status == 2)
    }

    /// Without `--retry`, the first connection that fails ends the command.
    @Test func failedConnectionIsReported() throws {
        let server = try ScriptedServer([.receiveHead, .close])
        #expect(try program.run("get", "--sse", server.url()).status == 52)
        #expect(server.connections.count == 1)
    }

    @Test func maximumTimeEndsTheStream() throws {
        let server = try ScriptedServer([.receiveHead, .send(text: Self.head + "data: a\n\n"), .stall])
        let outcome = try program.run("get", "--sse", "-m", "1", server.url())
        #expect(outcome.text == "a\n" && outcome.status == 28)
    }
}
