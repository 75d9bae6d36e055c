// SPDX-License-Identifier: Apache-2.0

import ServerSupport
import TestThreads
import Testing

/// What a failed load of `get` leaves behind, and how it ends other loads.
@Suite(.blocking, .timeLimit(.minutes(2))) struct GetFailedLoadTests {
    private let program: Program

    init() throws { program = try Program() }

    /// With the tag of an incomplete file, the next run would keep the old file, because the server answers with 304.
    @Test func tagOfAnIncompleteFileIsNotSaved() throws {
        let server = try ScriptedServer(
            ScriptedServer.cutShort("new", of: 10, ["ETag: \"v2\""]), ScriptedServer.response("200 OK", ["ETag: \"v2\""], "new"))
        _ = try program.makeFile("f", "old")
        _ = try program.makeFile("tag", "\"v1\"\n")
        let arguments = ["get", "--etag-compare", "tag", "--etag-save", "tag", "-o", "f", server.url()]
        #expect(try program.run(arguments).status == 18)
        #expect(program.contents(of: "f") == "old" && program.contents(of: "tag") == "\"v1\"\n")
        #expect(try program.run(arguments).status == 0)
        #expect(program.contents(of: "f") == "new" && program.contents(of: "tag") == "\"v2\"\n")
        #expect(server.requests.allSatisfy { $0.contains("If-None-Match: \"v1\"") })
    }

    @Test func firstFailureEndsTheLoadsThatRun() throws {
        let hasStarted = try Gate()
        let slow = try ScriptedServer { _ in
            [.receiveHead, .send(text: "HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nslow"), .open(hasStarted), .stall]
        }
        let failing = try ScriptedServer { _ in
            [.wait(hasStarted)] + ScriptedServer.response("404 Not Found")
        }
        let outcome = try program.run("get", "-Z", "--fail-early", "-f", "-o", "a", slow.url("/a"), "-o", "b", failing.url("/b"))
        #expect(outcome.status == 22, "\(outcome.errors)")
        #expect(outcome.errors.contains { $0.contains("cancelled, because another load has failed (--fail-early)") }, "\(outcome.errors)")
        #expect(try program.files == [])
    }
}
