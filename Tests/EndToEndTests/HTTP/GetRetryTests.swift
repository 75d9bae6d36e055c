// SPDX-License-Identifier: Apache-2.0

import Foundation
import ServerSupport
import TestThreads
import Testing

/// `get --retry`, and the time limits.
@Suite(.blocking, .timeLimit(.minutes(2))) struct GetRetryTests {
    private let program: Program

    init() throws { program = try Program() }

    private static let busyResponse = ScriptedServer.response("503 Service Unavailable", ["Retry-After: 0"], "busy")
    private static let halfBodyThenStall: [ScriptedServer.Step] = [
        .receiveHead, .send(text: "HTTP/1.1 200 OK\r\nContent-Length: 8\r\n\r\nhalf"), .stall,
    ]

    @Test func transientStatusIsRetried() throws {
        let server = try ScriptedServer(Self.busyResponse, Self.busyResponse, ScriptedServer.response("200 OK", [], "done"))
        let outcome = try program.run("get", "--retry", "3", "--retry-delay", "0.01", server.url())
        #expect(outcome.text == "done" && outcome.status == 0)
        let warningStart = "portolan: warning: the response for '\(server.url())' is 503 Service Unavailable; trying again in 0 s"
        #expect(outcome.errors == ["\(warningStart) (1 of 3)", "\(warningStart) (2 of 3)"])
    }

    @Test func responseOfTheLastAttemptIsWritten() throws {
        let server = try ScriptedServer(Self.busyResponse)
        let outcome = try program.run("get", "-s", "--retry", "2", "--retry-delay", "0.01", server.url())
        #expect(outcome.text == "busy" && outcome.status == 0 && outcome.errors.isEmpty)
        #expect(server.connections.count == 3)
        let outcomeWithFail = try program.run("get", "-s", "-S", "--fail", "--retry", "1", "--retry-delay", "0.01", server.url())
        #expect(outcomeWithFail.status == 22 && outcomeWithFail.errors.count == 1)
    }

    @Test func tooLongRetryAfterHeaderStopsRetrying() throws {
        let server = try ScriptedServer(ScriptedServer.response("429 Too Many Requests", ["Retry-After: 601"], "later"))
        let outcome = try program.run("get", "--retry", "5", "--retry-delay", "0.01", server.url())
        #expect(outcome.text == "later" && outcome.status == 0)
        let reason = "the server asks for a wait of 601 s (Retry-After), and a retry waits at most 600 s"
        #expect(outcome.errors == ["portolan: warning: not tried again: \(reason)"])
        #expect(server.connections.count == 1)
        #expect(try program.run("get", "-s", "--retry", "5", server.url()).errors.isEmpty)
        #expect(try program.run("get", server.url()).errors.isEmpty)
        let outcomeWithFail = try program.run("get", "--fail", "--retry", "5", "--retry-max-time", "9", server.url())
        #expect(
            outcomeWithFail.status == 22 && outcomeWithFail.errors.count == 2
                && outcomeWithFail.errors.first?.contains("not tried again") == true)
    }

    @Test func retryReplacesThePartialFile() throws {
        let server = try ScriptedServer(Self.halfBodyThenStall, ScriptedServer.response("200 OK", [], "whole"))
        let outcome = try program.run(
            "get", "--retry", "1", "--retry-delay", "0.01", "--max-time", "3", "-o", "out", server.url())
        #expect(outcome.status == 0, "\(outcome.errors)")
        #expect(program.contents(of: "out") == "whole")
        #expect(try program.files == ["out"])
    }

    @Test func loadIsNotRetriedAfterBodyWasPrinted() throws {
        let server = try ScriptedServer(Self.halfBodyThenStall)
        let outcome = try program.run("get", "--retry", "5", "--retry-delay", "0.01", "--max-time", "2", server.url())
        #expect(outcome.text == "half" && outcome.status == 28)
        let warning = "portolan: warning: not tried again: a part of the body was already written, and can't be removed from the output"
        #expect(outcome.errors.first == warning && outcome.errors.count == 2, "\(outcome.errors)")
        #expect(server.connections.count == 1)
    }

    @Test func refusedConnectionIsRetriedOnlyWithOption() throws {
        let port = try RefusingPort()
        let url = "http://127.0.0.1:\(port.port)/"
        let withoutOption = try program.run("get", "--retry", "2", "--retry-delay", "0.01", url)
        #expect(withoutOption.status == 7 && withoutOption.errors.count == 1)
        let withConnRefused = try program.run("get", "--retry", "2", "--retry-delay", "0.01", "--retry-connrefused", url)
        #expect(withConnRefused.status == 7 && withConnRefused.errors.count == 3)
    }

    @Test func connectTimeoutEndsAConnectionAttempt() throws {
        let blackHole = try BlackHolePort()
        let outcome = try program.run("get", "--connect-timeout", "0.2", "http://127.0.0.1:\(blackHole.port)/")
        #expect(outcome.status == 28 && outcome.errors.count == 1)
    }

    @Test func eachRetryIsAnEvent() throws {
        let server = try ScriptedServer(Self.busyResponse, ScriptedServer.response("200 OK", [], "done"))
        let outcome = try program.run("get", "--events", "-s", "--retry", "1", "--retry-delay", "0.01", server.url())
        let events = try outcome.lines.map { try #require(JSONSerialization.jsonObject(with: Data($0.utf8)) as? [String: Any]) }
        let names = events.compactMap { $0["event"] as? String }.filter { $0 != "step" }
        #expect(names == ["started", "response", "metrics", "retry", "started", "response", "data", "metrics", "finished"])
        let retry = try #require(events.first { $0["event"] as? String == "retry" })
        #expect(retry["rest"] as? Int == 1)
        #expect((retry["message"] as? String)?.contains("503") == true)
        // All times are relative to the start of the first attempt.
        let times = try events.map { try #require($0["time"] as? Double) }
        #expect(times == times.sorted())
        #expect(try #require(retry["time"] as? Double) > 0)
        let starts = events.compactMap { ($0["requests"] as? [[String: Any]])?.first?["start"] as? Double }
        #expect(starts.count == 2 && starts[0] == 0 && starts[1] > 0)
    }

    /// The signal of Ctrl-C arrives while the program waits for the next attempt, or for a response.
    @Test(arguments: [true, false])
    func signalEndsTheProgram(betweenAttempts: Bool) async throws {
        let requestArrived = try Gate()
        let server = try ScriptedServer(betweenAttempts ? Self.busyResponse : [.receiveHead, .open(requestArrived), .stall])
        let process = Process()
        process.executableURL = Program.executable
        process.arguments = ["get", "--retry", "1", "--retry-delay", "500", server.url()]
        process.environment = program.environment
        let errors = Pipe()
        (process.standardInput, process.standardOutput, process.standardError) = (FileHandle.nullDevice, FileHandle.nullDevice, errors)
        try process.run()
        if betweenAttempts {
            #expect(String(decoding: errors.fileHandleForReading.availableData, as: UTF8.self).contains("trying again in 500 s"))
        } else {
            try await requestArrived.wait()
        }
        process.interrupt()
        process.waitUntilExit()
        #expect(process.terminationStatus == 130)
        #expect(String(decoding: errors.fileHandleForReading.availableData, as: UTF8.self) == "portolan: interrupted\n")
    }
}
