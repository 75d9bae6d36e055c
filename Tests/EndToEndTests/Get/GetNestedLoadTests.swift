// SPDX-License-Identifier: Apache-2.0

import Foundation
import TestThreads
import Testing

/// `get --events` and `get -v` report nested loads until they end.
@Suite(.blocking, .timeLimit(.minutes(10))) struct GetNestedLoadTests {
    private let program: Program
    private let relay: String

    init() throws {
        program = try Program()
        relay = try program.copyFixture("relay.so")
    }

    /// The names of the events. For events of nested loads, also the values of the members that are equal in each run.
    private func summary(_ lines: [String]) throws -> [String] {
        try lines.compactMap { line in
            let event = try #require(JSONSerialization.jsonObject(with: Data(line.utf8)) as? [String: Any])
            let name = try #require(event["event"] as? String)
            guard name.hasPrefix("inner") else { return name }
            let members = ["depth", "url", "method", "handler", "bytes", "code"].compactMap { member in event[member].map { "\($0)" } }
            return ([name] + members).joined(separator: " ")
        }
    }

    @Test func nestedLoadIsALineAtItsStartAndItsEnd() throws {
        let outcome = try program.run("get", "--events", "--plugin", relay, "relay:relay:data:,hello")
        let events = try summary(outcome.lines)
        #expect(
            events.filter { $0.hasPrefix("inner") } == [
                "inner 1 relay:data:,hello GET org.portolan.relay", "inner 2 data:,hello GET org.portolan.data",
                "innerEnd 2 data:,hello 5 <null>", "innerEnd 1 relay:data:,hello 5 <null>",
            ])
        #expect(events.first == "started" && events.last == "finished")
    }

    @Test func nestedFailureIsReported() throws {
        let outcome = try program.run("get", "--events", "--plugin", relay, "relay:file:///nosuch/file")
        #expect(
            try summary(outcome.lines) == [
                "started", "inner 1 file:///nosuch/file GET org.portolan.file", "innerEnd 1 file:///nosuch/file 0 notFound", "failed",
            ])
        #expect(outcome.status == 37)
    }

    @Test func verboseReportsNestedLoads() throws {
        let outcome = try program.run("get", "-v", "--plugin", relay, "relay:data:,hello")
        #expect(outcome.errors.contains("* nested load, depth 1: GET 'data:,hello', handler: org.portolan.data"))
        #expect(
            outcome.errors.contains { $0.hasPrefix("* nested load, depth 1: 'data:,hello' finished after ") && $0.hasSuffix(", 5 bytes") })
    }

    /// Ctrl-C and the time limit end the nested load before the outer load. The program reports the end of both.
    @Test(arguments: [(true, Int32(130)), (false, 28)])
    func endOfTheOuterLoadEndsTheNestedLoadFirst(byInterrupt: Bool, status: Int32) throws {
        let unrulyPlugin = try UnrulyPlugin.make(in: program)
        let process = Process()
        process.executableURL = Program.executable
        process.arguments =
            ["get", "--events", "--plugin", relay, "--plugin", unrulyPlugin, "relay:unruly://hang"]
            + (byInterrupt ? [] : ["--max-time", "0.2"])
        process.currentDirectoryURL = program.folder
        let (output, errors) = (Pipe(), Pipe())
        (process.standardInput, process.standardOutput, process.standardError) = (FileHandle.nullDevice, output, errors)
        try process.run()
        #expect(String(decoding: errors.fileHandleForReading.availableData, as: UTF8.self) == "waits\n")
        if byInterrupt { process.interrupt() }
        process.waitUntilExit()
        let outputText = String(decoding: output.fileHandleForReading.availableData, as: UTF8.self)
        let events = try summary(outputText.split(separator: "\n").map(String.init))
        #expect(process.terminationStatus == status)
        // Both loads have the same time limit, so each of them can time out first.
        let endCodes = byInterrupt ? ["cancelled"] : ["cancelled", "timedOut"]
        #expect(endCodes.contains { events.suffix(2) == ["innerEnd 1 unruly://hang 0 \($0)", "failed"] }, "\(events)")
        #expect(events.dropLast(2).contains("inner 1 unruly://hang GET org.portolan.unruly"))
    }
}
