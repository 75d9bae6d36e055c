// SPDX-License-Identifier: Apache-2.0

import Foundation
import ServerSupport
import TestThreads
import Testing

/// The requests that `get` sends, and its handling of the responses.
@Suite(.blocking, .timeLimit(.minutes(2))) struct GetRequestTests {
    private let program: Program

    init() throws { program = try Program() }

    @Test func bodyIsPrintedAndDefaultFieldsAreSent() throws {
        let server = try ScriptedServer(ScriptedServer.response("200 OK", [], "hello"))
        let outcome = try program.run("get", server.url("/a?b"))
        #expect(outcome.text == "hello" && outcome.status == 0 && outcome.errors.isEmpty)
        let request = try #require(server.requests.first)
        #expect(request.first == "GET /a?b HTTP/1.1")
        #expect(request.contains("Accept: */*") && request.contains("Accept-Encoding: gzip, deflate"))
        #expect(request.contains { $0.hasPrefix("User-Agent: Portolan/") })
    }

    @Test func headersAreAddedReplacedAndRemoved() throws {
        let server = try ScriptedServer(ScriptedServer.response("200 OK"))
        let arguments = [
            "-H", "Accept:", "-H", "user-agent:", "-H", "Accept-Encoding: br", "-H", "X: 1", "-H", "X: 2", "-H", "Y;", "-X", "PURGE",
        ]
        #expect(try program.run(["get"] + arguments + [server.url()]).status == 0)
        let request = try #require(server.requests.first)
        #expect(request.first == "PURGE / HTTP/1.1")
        #expect(request.filter { $0.hasPrefix("X:") } == ["X: 1", "X: 2"])
        #expect(request.contains("Y: ") && request.contains("Accept-Encoding: br"))
        #expect(!request.contains { $0.lowercased().hasPrefix("accept:") || $0.lowercased().hasPrefix("user-agent:") })
    }

    @Test func headOptionSendsHEAD() throws {
        let server = try ScriptedServer(
            ScriptedServer.responding("HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Type: text/html\r\nContent-Length: 7\r\n\r\n"))
        let outcome = try program.run("get", "-I", server.url())
        #expect(outcome.text == "HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Type: text/html\r\nContent-Length: 7\r\n\r\n")
        #expect(server.requests.first?.first == "HEAD / HTTP/1.1")
    }

    /// The line break at the end of the file is left out, as in curl.
    @Test func dataOptionsAreJoinedAndSentAsAForm() throws {
        try program.makeFile("part", "c d\n")
        let server = try ScriptedServer([.receiveHead, .receive(15)] + ScriptedServer.response("200 OK").dropFirst())
        let outcome = try program.run("get", "-d", "a=1", "-d", "@part", "-d", "@-", server.url(), input: "stdin=y")
        #expect(outcome.status == 0, "\(outcome.errors)")
        let request = try #require(server.requests.first)
        #expect(request.first == "POST / HTTP/1.1")
        #expect(request.contains("Content-Type: application/x-www-form-urlencoded") && request.contains("Content-Length: 15"))
        #expect(request.last == "a=1&c d&stdin=y")
    }

    @Test func fileIsUploadedUnderItsName() throws {
        try program.makeFile("my file", "contents")
        let server = try ScriptedServer([.receiveHead, .receive(8)] + ScriptedServer.response("201 Created").dropFirst())
        #expect(try program.run("get", "-T", "my file", server.url("/dir/")).status == 0)
        #expect(server.requests.first?.first == "PUT /dir/my%20file HTTP/1.1")
        #expect(server.requests.first?.last == "contents")
    }

    @Test func standardInputIsUploadedInChunks() throws {
        let lastChunk = Array("0\r\n\r\n".utf8)
        let server = try ScriptedServer(
            [.receiveHead, .receive(3 + 5 + 2 + lastChunk.count)] + ScriptedServer.response("200 OK").dropFirst())
        #expect(try program.run("get", "-T", "-", "-H", "Expect:", server.url(), input: "bytes").status == 0)
        let text = try #require(server.connections.first?.text)
        #expect(text.contains("Transfer-Encoding: chunked\r\n"))
        #expect(text.hasSuffix("\r\n\r\n5\r\nbytes\r\n0\r\n\r\n"))
    }

    @Test func standardInputIsNotSentTwice() throws {
        let lastChunk = Array("0\r\n\r\n".utf8)
        let script: [ScriptedServer.Step] =
            [.receiveHead, .receive(3 + 5 + 2 + lastChunk.count)]
            + ScriptedServer.response("307 Temporary Redirect", ["Location: /b"]).dropFirst()
        let server = try ScriptedServer(script)
        let outcome = try program.run("get", "-T", "-", "-H", "Expect:", server.url(), input: "bytes")
        #expect(outcome.status == 26)
        #expect(outcome.errors.count == 1)
        let busyServer = try ScriptedServer(
            [.receiveHead, .receive(3 + 5 + 2 + lastChunk.count)] + ScriptedServer.response("503 Busy", [], "busy").dropFirst())
        let retryOutcome = try program.run("get", "--retry", "5", "-T", "-", "-H", "Expect:", busyServer.url(), input: "bytes")
        #expect(retryOutcome.text == "busy")
        #expect(retryOutcome.errors == ["portolan: warning: not tried again: the request's body can be read only once"])
    }

    @Test(arguments: [("http://h:99999/", 3), ("http://", 3), ("file:///etc/passwd", 1)])
    func redirectToAnUnusableURLFails(location: String, status: Int32) throws {
        let server = try ScriptedServer(ScriptedServer.response("302 Found", ["Location: \(location)"], "moved"))
        let outcome = try program.run("get", server.url())
        #expect(outcome.status == status)
        #expect(outcome.output.isEmpty && outcome.errors.count == 1)
    }

    @Test(arguments: [
        ("attachment; filename=\"../../evil.sh\"", "evil.sh"), ("attachment; filename=.bashrc", "_bashrc"),
        ("attachment; filename*=UTF-8''na%C3%AFve.txt", "naïve.txt"), ("inline", "last"),
    ])
    func suggestedNameIsSanitized(disposition: String, name: String) throws {
        let server = try ScriptedServer(ScriptedServer.response("200 OK", ["Content-Disposition: \(disposition)"], "body"))
        #expect(try program.run("get", "-O", "-J", server.url("/dir/last")).status == 0)
        #expect(try program.files == [name])
    }

    @Test func redirectDoesNotChangeTheFileName() throws {
        let server = try ScriptedServer(
            ScriptedServer.response("302 Found", ["Location: /.profile"]), ScriptedServer.response("200 OK", [], "evil"))
        #expect(try program.run("get", "-OJ", server.url("/innocent")).status == 0)
        #expect(try program.files == ["innocent"])
        let secondProgram = try Program()
        let secondServer = try ScriptedServer(ScriptedServer.response("200 OK", [], "mine"))
        #expect(try secondProgram.run("get", "-O", secondServer.url("/.profile")).status == 0)
        #expect(try secondProgram.files == [".profile"])
    }

    @Test func errorStatusFailsOnlyWithTheFailOption() throws {
        let server = try ScriptedServer(ScriptedServer.response("404 Not Found", [], "nothing"))
        let outcomeWithoutOption = try program.run("get", server.url())
        #expect(outcomeWithoutOption.text == "nothing" && outcomeWithoutOption.status == 0)
        let outcome = try program.run("get", "--fail", server.url())
        #expect(outcome.output.isEmpty && outcome.status == 22)
        #expect(try program.run("get", "-f", server.url()).status == 22)
    }

    @Test func truncatedBodyFails() throws {
        let server = try ScriptedServer(ScriptedServer.cutShort("half", of: 8))
        let outcome = try program.run("get", "-o", "out", server.url())
        #expect(outcome.status == 18)
        #expect(try program.files.isEmpty)
    }
}
