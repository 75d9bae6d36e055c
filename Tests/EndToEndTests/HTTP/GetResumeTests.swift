// SPDX-License-Identifier: Apache-2.0

import Foundation
import ServerSupport
import TestThreads
import Testing

/// `get -C`
@Suite(.blocking, .timeLimit(.minutes(2))) struct GetResumeTests {
    private let program: Program

    init() throws { program = try Program() }

    @Test func partialFileIsKeptAndResumed() throws {
        let server = try ScriptedServer(
            ScriptedServer.cutShort("hello ", of: 11, ["ETag: \"v1\""]),
            ScriptedServer.response("206 Partial Content", ["ETag: \"v1\"", "Content-Range: bytes 6-10/11"], "world"))
        let firstOutcome = try program.run("get", "-C", "-", "-o", "out", server.url())
        #expect(firstOutcome.status == 18)
        #expect(program.contents(of: "out") == "hello ")
        let secondOutcome = try program.run("get", "-C", "-", "-o", "out", server.url())
        #expect(secondOutcome.status == 0, "\(secondOutcome.errors)")
        #expect(program.contents(of: "out") == "hello world")
        #expect(try program.files == ["out"])
        try #require(server.requests.count == 2)
        #expect(!server.requests[0].contains { $0.hasPrefix("Range:") })
        #expect(server.requests[0].contains("Accept-Encoding: identity"))
        #expect(server.requests[1].contains("Range: bytes=6-"))
        // Without extended attributes, the program can't store the validator of a part.
        if Self.supportsExtendedAttributes(program) { #expect(server.requests[1].contains("If-Range: \"v1\"")) }
    }

    /// Whether the folder's file system has extended attributes. The command stores the validator of a partial file in
    /// such an attribute.
    private static func supportsExtendedAttributes(_ program: Program) -> Bool {
        let outcome = try? program.runScript(
            "touch probe; /usr/bin/python3 -c 'import os; os.setxattr(\"probe\", \"user.x\", b\"y\")' 2>/dev/null; echo $?; rm probe")
        return outcome?.text == "0\n"
    }

    @Test func newVersionReplacesThePartialFile() throws {
        guard Self.supportsExtendedAttributes(program) else { return }
        let server = try ScriptedServer(
            ScriptedServer.cutShort("old ", of: 11, ["ETag: \"v1\""]), ScriptedServer.response("200 OK", ["ETag: \"v2\""], "new"))
        _ = try program.run("get", "-C", "-", "-o", "out", server.url())
        #expect(try program.run("get", "-C", "-", "-o", "out", server.url()).status == 0)
        #expect(program.contents(of: "out") == "new")
    }

    @Test(
        arguments: [
            ("200 OK", "X: y", "hello world", 33), ("206 Partial Content", "Content-Range: bytes 5-10/11", " world", 33),
            ("206 Partial Content", "X: y", "world", 33),
            ("206 Partial Content", "Content-Range: bytes 6-10/11\r\nContent-Encoding: gzip", "world", 33),
            ("416 Range Not Satisfiable", "Content-Range: bytes */4", "", 33),
            ("404 Not Found", "X: y", "nothing", 22),
        ] as [(String, String, String, Int32)])
    func unsuitableResponseKeepsTheFile(status: String, field: String, body: String, exitStatus: Int32) throws {
        try program.makeFile("out", "hello ")
        let server = try ScriptedServer(ScriptedServer.response(status, [field], body))
        let outcome = try program.run("get", "-C", "-", "-o", "out", server.url())
        #expect(outcome.status == exitStatus)
        #expect(outcome.errors.count == 1)
        #expect(program.contents(of: "out") == "hello ")
    }

    @Test func codedBodyIsNotStartedWithoutTheOption() throws {
        let server = try ScriptedServer([.forever(ScriptedServer.response("200 OK", ["Content-Encoding: br"], "hello"))])
        let outcome = try program.run("get", "-C", "-", "-o", "out", server.url())
        #expect(outcome.status == 33)
        #expect(outcome.errors.count == 1 && outcome.errors[0].contains("--coded"))
        #expect(try program.files == [])
        #expect(try program.run("get", "--coded", "-C", "-", "-o", "out", server.url()).status == 0)
        #expect(program.contents(of: "out") == "hello")
    }

    @Test func codedFileIsResumedWithCodedBytes() throws {
        try program.makeFile("out", "hello ")
        let server = try ScriptedServer(
            ScriptedServer.response("206 Partial Content", ["Content-Range: bytes 6-10/11", "Content-Encoding: gzip"], "world"))
        #expect(try program.run("get", "--coded", "-C", "-", "-o", "out", server.url()).status == 0)
        #expect(program.contents(of: "out") == "hello world")
    }

    @Test func bodyLongerThanItsRangeIsRefused() throws {
        try program.makeFile("out", "hello ")
        let server = try ScriptedServer(ScriptedServer.response("206 Partial Content", ["Content-Range: bytes 6-7/11"], "world"))
        #expect(try program.run("get", "-C", "-", "-o", "out", server.url()).status == 8)
        #expect(program.contents(of: "out") == "hello ")
    }

    @Test func rangeBeforeTheEndIsKeptAsAPartialFile() throws {
        try program.makeFile("out", "hello ")
        let server = try ScriptedServer(
            ScriptedServer.response("206 Partial Content", ["Content-Range: bytes 6-8/11"], "wor"),
            ScriptedServer.response("206 Partial Content", ["Content-Range: bytes 9-10/11"], "ld"))
        #expect(try program.run("get", "-C", "-", "-o", "out", server.url()).status == 18)
        #expect(try program.run("get", "-C", "-", "-o", "out", server.url()).status == 0)
        #expect(program.contents(of: "out") == "hello world")
    }

    @Test func completeFileIsASuccessWithoutABody() throws {
        try program.makeFile("out", "hello")
        let server = try ScriptedServer(ScriptedServer.response("416 Range Not Satisfiable", ["Content-Range: bytes */5"], "no such range"))
        let outcome = try program.run("get", "--fail", "-C", "-", "-o", "out", server.url())
        #expect(outcome.status == 0 && outcome.errors.isEmpty)
        #expect(program.contents(of: "out") == "hello")
    }

    /// The old file stays until the new one is complete.
    @Test(arguments: [("404 Not Found", "nothing", 9), ("200 OK", "cut", 9), ("200 OK", "hello all", 9)])
    func offset0ReplacesTheFile(status: String, body: String, length: Int) throws {
        try program.makeFile("out", "hello ")
        let server = try ScriptedServer([
            .receiveHead, .send(text: "HTTP/1.1 \(status)\r\nConnection: close\r\nContent-Length: \(length)\r\n\r\n\(body)"), .halfClose,
        ])
        let outcome = try program.run("get", "-C", "0", "-o", "out", server.url())
        let isComplete = status == "200 OK" && body.utf8.count == length
        #expect(outcome.status == (isComplete ? 0 : status == "200 OK" ? 18 : 22))
        #expect(program.contents(of: "out") == (isComplete ? body : "hello "))
    }

    @Test func offsetMustBeTheEndOfTheFile() throws {
        try program.makeFile("out", "hello ")
        let server = try ScriptedServer(ScriptedServer.response("206 Partial Content", ["Content-Range: bytes 6-10/11"], "world"))
        #expect(try program.run("get", "-C", "5", "-o", "out", server.url()).status == 23)
        #expect(server.connections.isEmpty)
        #expect(try program.run("get", "-C", "6", "-o", "out", server.url()).status == 0)
        #expect(program.contents(of: "out") == "hello world")
    }

    @Test func restOfABodyCanBePrinted() throws {
        let server = try ScriptedServer(
            ScriptedServer.response("206 Partial Content", ["Content-Range: bytes 6-10/11"], "world"),
            ScriptedServer.response("200 OK", [], "all"))
        #expect(try program.run("get", "-C", "6", server.url()).text == "world")
        let outcome = try program.run("get", "-C", "6", server.url())
        #expect(outcome.output.isEmpty && outcome.status == 33)
    }

    @Test func resumedFileIsNamedAfterTheURL() throws {
        try program.makeFile("f.txt", "hello ")
        let fields = ["Content-Range: bytes 6-10/11", "Content-Disposition: attachment; filename=other"]
        let server = try ScriptedServer(ScriptedServer.response("206 Partial Content", fields, "world"))
        #expect(try program.run("get", "-C", "-", "-O", server.url("/f.txt")).status == 0)
        #expect(try program.files == ["f.txt"])
        #expect(program.contents(of: "f.txt") == "hello world")
    }

    @Test func fileURLCanBeResumed() throws {
        let file = try program.makeFile("source", "hello world")
        try program.makeFile("out", "hello ")
        #expect(try program.run("get", "-C", "-", "-o", "out", file.absoluteString).status == 0)
        #expect(program.contents(of: "out") == "hello world")
    }

    @Test func eachRetryResumesWhereTheLastAttemptEnded() throws {
        let server = try ScriptedServer(
            ScriptedServer.response("503 Busy"),
            [.receiveHead, .send(text: "HTTP/1.1 200 OK\r\nContent-Length: 11\r\n\r\nhello "), .stall],
            ScriptedServer.response("206 Partial Content", ["Content-Range: bytes 6-10/11"], "world"))
        let outcome = try program.run(
            "get", "--retry", "2", "--retry-delay", "0.01", "--max-time", "5", "-C", "-", "-o", "out", server.url())
        #expect(outcome.status == 0, "\(outcome.errors)")
        #expect(program.contents(of: "out") == "hello world")
        #expect(server.requests.last?.contains("Range: bytes=6-") == true)
    }

    @Test(arguments: [["-C", "-"], ["-C", "-", "-o", "-"], ["-C", "x"], ["-C", "-1"], ["-C", "1", "-i", "-o", "out"]])
    func invalidResumeOptionsAreRefused(arguments: [String]) throws {
        let outcome = try program.run(["get"] + arguments + ["data:,x"])
        #expect(outcome.status == 2 && outcome.errors.count == 1)
    }
}
