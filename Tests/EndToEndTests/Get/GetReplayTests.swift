// SPDX-License-Identifier: Apache-2.0

import Foundation
import ServerSupport
import TestThreads
import Testing

/// `get --replay`
@Suite(.blocking, .timeLimit(.minutes(10))) struct GetReplayTests {
    private let program: Program

    init() throws { program = try Program() }

    private static let bytesOfEveryValue: [UInt8] = (0...255).map { UInt8($0) }

    /// Serves a redirect, a binary body, a truncated body, and a last response.
    private func server() throws -> ScriptedServer {
        let head = "HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Type: a/b\r\nX-Mark: 1\r\nContent-Length: 256\r\n\r\n"
        return try ScriptedServer(
            ScriptedServer.response("302 Found", ["Location: /there"]), [.receiveHead, .send(Array(head.utf8) + Self.bytesOfEveryValue)],
            ScriptedServer.cutShort("half", of: 8), ScriptedServer.response("200 OK", ["Set-Cookie: id=hidden"], "last"))
    }

    @Test(arguments: ["loads.har", "loads.json"]) func replayWithoutTheServerGivesTheSameOutput(_ name: String) throws {
        let server = try server()
        let arguments = ["get", "-i", server.url("/moved"), server.url("/cut"), server.url("/last")]
        let loadOutcome = try program.run(arguments + ["--trace", name])
        #expect(loadOutcome.status == 18 || loadOutcome.status == 56, "\(loadOutcome.errors)")
        #expect(loadOutcome.output.range(of: Data(Self.bytesOfEveryValue)) != nil && loadOutcome.text.hasSuffix("last"))
        server.close()
        let replayOutcome = try program.run(arguments + ["--replay", name])
        #expect(replayOutcome.status == loadOutcome.status && replayOutcome.errors == loadOutcome.errors)
        // A recording has names in lower case.
        #expect(Self.inLowerCase(replayOutcome.output) == Self.inLowerCase(loadOutcome.output).removing("set-cookie: id=hidden\r\n"))
        #expect(program.contents(of: name)?.contains("hidden") == false)
    }

    private static func inLowerCase(_ output: Data) -> Data {
        Data(output.map { (UInt8(ascii: "A")...UInt8(ascii: "Z")).contains($0) ? $0 | 0x20 : $0 })
    }

    @Test func requestWithoutAnEntryFailsAndTheFileIsUnchanged() throws {
        #expect(try program.run("get", "--trace", "loads.json", "data:,one").status == 0)
        let contentsBefore = program.contents(of: "loads.json")
        let outcome = try program.run("get", "--replay", "loads.json", "data:,one", "data:,two", "data:,one")
        #expect(outcome.status == 37 && outcome.text == "oneone")
        #expect(
            outcome.errors
                == ["portolan: the recording has no response to GET 'data:,two' or to a similar request (recorded requests: 1)"])
        #expect(program.contents(of: "loads.json") == contentsBefore)
    }

    /// Replays a plugin's load without the plugin.
    @Test(arguments: ["loads.har", "loads.json"]) func pluginLoadsAreReplayedWithoutThePlugin(_ name: String) throws {
        let relay = try program.copyFixture("relay.so")
        #expect(try program.run("get", "--trace", name, "--plugin", relay, "relay:data:,hello").text == "hello")
        let outcome = try program.run("get", "--no-plugins", "--replay", name, "relay:data:,hello")
        #expect(outcome.text == "hello" && outcome.status == 0, "\(outcome.errors)")
    }

    @Test(arguments: ["loads.har", "loads.json"]) func fillModeAddsMissingEntries(_ name: String) throws {
        let server = try ScriptedServer(
            ScriptedServer.response("200 OK", [], "one"), ScriptedServer.response("302 Found", ["Location: /two"]),
            ScriptedServer.response("200 OK", [], "two"))
        let fill = ["get", "--replay", name, "--replay-mode", "fill"]
        #expect(try program.run(fill + [server.url("/1")]).text == "one")
        #expect(try program.run(fill + [server.url("/1"), server.url("/2")]).text == "onetwo")
        #expect(server.connections.count == 3)
        server.close()
        let replayOutcome = try program.run("get", "--replay", name, server.url("/2"), server.url("/1"))
        #expect(replayOutcome.text == "twoone" && replayOutcome.status == 0, "\(replayOutcome.errors)")
        #expect(try program.files == [name])
    }

    /// Each process adds its entry to the entries that other processes have added.
    @Test(arguments: ["loads.har", "loads.json"]) func concurrentProcessesInFillModeLoseNoEntry(_ name: String) throws {
        // Uses xargs(1) and not `wait` of the shell: the shell inherits that SIGCHLD is blocked in the test threads, so
        // `wait` would miss the ends of its child processes.
        let outcome = try program.runScript(
            "seq 8 | xargs -P 8 -I N \"$portolan\" get --replay \(name) --replay-mode fill data:,N >/dev/null")
        #expect(outcome.errors.isEmpty, "\(outcome.errors)")
        let replayOutcome = try program.run(["get", "--replay", name] + (1...8).map { "data:,\($0)" })
        #expect(replayOutcome.text == "12345678" && replayOutcome.status == 0, "\(replayOutcome.errors)")
        #expect(try program.files == [name])
    }

    @Test(arguments: ["loads.har", "loads.json"]) func unusualStatusIsRecordedAndReplayed(_ name: String) throws {
        let server = try ScriptedServer(
            ScriptedServer.response("200 OK", [], "one"), ScriptedServer.response("000 Zero", [], "two"),
            ScriptedServer.response("099 Odd", [], "three"))
        let fill = ["get", "--replay", name, "--replay-mode", "fill"]
        for (path, text) in [("/1", "one"), ("/2", "two"), ("/3", "three")] {
            #expect(try program.run(fill + [server.url(path)]).text == text)
        }
        server.close()
        let replayOutcome = try program.run("get", "--replay", name, server.url("/1"), server.url("/2"), server.url("/3"))
        #expect(replayOutcome.text == "onetwothree" && replayOutcome.status == 0, "\(replayOutcome.errors)")
    }

    @Test func unreadableEntryIsSkippedAndKept() throws {
        let entry = #"{"request":{"method":"GET","url":"data:,one"},"response":{"status":0,"content":{"text":"one"}}}"#
        try program.makeFile("loads.har", #"{"log":{"entries":[\#(entry),{"mine":7}]}}"#)
        let outcome = try program.run("get", "--replay", "loads.har", "--replay-mode", "fill", "data:,one", "data:,two")
        #expect(outcome.text == "onetwo" && outcome.status == 0)
        #expect(
            outcome.errors == ["portolan: warning: --replay: 'loads.har': entry 2 (line 1:116) lacks 'request'; it is skipped"],
            "\(outcome.errors)")
        #expect(program.contents(of: "loads.har")?.contains(#"{"mine":7}"#) == true)
        #expect(try program.run("get", "--replay", "loads.har", "data:,two", "data:,one").text == "twoone")
    }

    @Test func secretsAreNeitherRecordedNorCompared() throws {
        let server = try ScriptedServer(
            ScriptedServer.response("200 OK", ["Content-Type: application/json"], #"{"access_token":"hidden3"}"#))
        let arguments: (String) -> [String] = { ["get", server.url("/f?api_key=\($0)"), "-d", "user=me&password=\($0)"] }
        #expect(try program.run(arguments("hidden1") + ["--replay", "a.har", "--replay-mode", "fill"]).text.contains("hidden3"))
        #expect(try program.run(arguments("hidden2") + ["--replay", "b.har", "--replay-mode", "fill", "--keep-secrets"]).status == 0)
        server.close()
        #expect(program.contents(of: "a.har")?.contains("hidden") == false)
        #expect(try program.run(arguments("other") + ["--replay", "a.har"]).text == #"{"access_token":"*******"}"#)
        #expect(try program.run(arguments("hidden2") + ["--replay", "b.har"]).text == #"{"access_token":"hidden3"}"#)
        #expect(try program.run(arguments("other") + ["--replay", "b.har"]).status == 37)
    }

    @Test func recordModeReplacesTheFile() throws {
        let name = "loads.har"
        let server = try ScriptedServer(ScriptedServer.response("200 OK", [], "old"), ScriptedServer.response("200 OK", [], "new"))
        let record = ["get", "--replay", name, "--replay-mode", "record", server.url()]
        #expect(try program.run(record).text == "old")
        #expect(try program.run(record).text == "new")
        let contentsBefore = program.contents(of: name)
        #expect(contentsBefore?.contains("old") == false)
        // The file stays unchanged if nothing was loaded.
        #expect(try program.run("get", "--replay", name, "--replay-mode", "record", "no URL").status == 3)
        #expect(program.contents(of: name) == contentsBefore)
        server.close()
        #expect(try program.run("get", "--replay", name, server.url()).text == "new")
    }

    /// A recording that fails, as without a network, must not destroy an earlier one.
    @Test func recordingWithOnlyFailuresDoesNotReplaceTheFile() throws {
        let record = ["get", "--replay", "loads.har", "--replay-mode", "record"]
        #expect(try program.run(record + ["data:,one"]).status == 0)
        let contentsBefore = program.contents(of: "loads.har")
        let outcome = try program.run(record + ["file:///nosuch/file"])
        #expect(outcome.status == 37)
        #expect(outcome.errors.last == "portolan: warning: --replay: no request got a response; 'loads.har' is unchanged")
        #expect(program.contents(of: "loads.har") == contentsBefore)
        // Without an existing recording, failures are recorded.
        #expect(try program.run("get", "--replay", "new.har", "--replay-mode", "record", "file:///nosuch/file").status == 37)
        #expect(program.contents(of: "new.har")?.contains("notFound") == true)
    }

    @Test(arguments: [SIGINT, SIGTERM]) func signalKeepsTheFileUnchanged(signal: Int32) throws {
        let unrulyPlugin = try UnrulyPlugin.make(in: program)
        let record = ["get", "--replay", "loads.har", "--replay-mode", "record", "--plugin", unrulyPlugin]
        #expect(try program.run(record + ["data:,one", "data:,two"]).status == 0)
        let contentsBefore = program.contents(of: "loads.har")
        let process = Process()
        process.executableURL = Program.executable
        process.arguments = record + ["--trace", "trace.json", "data:,fragment", "unruly://hang"]
        process.currentDirectoryURL = program.folder
        let errors = Pipe()
        (process.standardInput, process.standardOutput, process.standardError) = (FileHandle.nullDevice, FileHandle.nullDevice, errors)
        try process.run()
        #expect(String(decoding: errors.fileHandleForReading.availableData, as: UTF8.self) == "waits\n")
        kill(process.processIdentifier, signal)
        process.waitUntilExit()
        #expect(process.terminationStatus == 128 + signal)
        #expect(program.contents(of: "loads.har") == contentsBefore && program.contents(of: "trace.json") == nil)
    }

    @Test func unwritableRecordingIsReportedBeforeTheLoad() throws {
        let server = try ScriptedServer(ScriptedServer.response("200 OK", [], "one"))
        try program.makeFile("folder.har/x")
        for (path, errorText) in [
            ("nosuch/x.har", "cannot write 'nosuch/x.har': the folder 'nosuch' does not exist"),
            ("folder.har", "'folder.har' is not a regular file"),
        ] {
            let outcome = try program.run("get", "--replay", path, "--replay-mode", "record", server.url())
            #expect(outcome.status == 23 && outcome.errors.first?.contains(errorText) == true, "\(outcome.errors)")
        }
        #expect(server.connections.isEmpty)
        #expect(try program.files == ["folder.har"])
    }

    @Test(arguments: ["--trace", "-o"], ["loads.json", "./loads.json", "link.json"])
    func recordingIsNotOverwrittenByAnotherOutput(option: String, name: String) throws {
        #expect(try program.run("get", "--trace", "loads.json", "data:,one").status == 0)
        let contentsBefore = program.contents(of: "loads.json")
        try FileManager.default.createSymbolicLink(atPath: program.folder.path + "/link.json", withDestinationPath: "loads.json")
        let outcome = try program.run("get", "--replay", "loads.json", option, name, "data:,one")
        #expect(outcome.status == 2)
        #expect(
            outcome.errors.contains {
                $0.contains("--replay and \(option) name the same file, 'loads.json'; choose another one for \(option)")
            })
        #expect(program.contents(of: "loads.json") == contentsBefore)
    }

    @Test func requestsWithDifferentBodiesAreDistinguished() throws {
        let server = try ScriptedServer(
            [.receiveThrough("a=1"), .send(text: "HTTP/1.1 200 OK\r\nContent-Length: 3\r\nConnection: close\r\n\r\none")],
            [.receiveThrough("a=2"), .send(text: "HTTP/1.1 200 OK\r\nContent-Length: 3\r\nConnection: close\r\n\r\ntwo")])
        for (index, data) in ["a=1", "a=2"].enumerated() {
            let outcome = try program.run("get", "--replay", "forms.har", "--replay-mode", "fill", "-d", data, server.url())
            #expect(outcome.text == ["one", "two"][index], "\(outcome.errors)")
        }
        server.close()
        #expect(try program.run("get", "--replay", "forms.har", "-d", "a=2", server.url()).text == "two")
        let outcomeForAnotherBody = try program.run("get", "--replay", "forms.har", "-d", "a=3", server.url())
        #expect(
            outcomeForAnotherBody.status == 37
                && outcomeForAnotherBody.errors.first?.contains("with this body; it has the same request with another body") == true)
    }

    @Test func stdioReplaysTheRecording() throws {
        #expect(try program.run("get", "--trace", "loads.json", "data:,one").status == 0)
        let outcome = try program.run(
            "stdio", "--replay", "loads.json", "--replay-mode", "fill",
            input: "{\"id\":1,\"url\":\"data:,one\"}\n{\"id\":2,\"url\":\"data:,two\"}\n")
        #expect(outcome.lines.contains { $0.contains("\"id\":1") && $0.contains("\"body\":\"one\"") })
        #expect(outcome.lines.contains { $0.contains("\"id\":2") && $0.contains("\"body\":\"two\"") })
        #expect(try program.run("get", "--replay", "loads.json", "data:,two", "data:,one").text == "twoone")
    }

    @Test func explainNamesTheReplayHandler() throws {
        #expect(try program.run("get", "--trace", "loads.json", "data:,one").status == 0)
        let outcome = try program.run("explain", "--replay", "loads.json", "data:,one")
        #expect(outcome.lines.last == "served by org.portolan.replay")
    }

    @Test(arguments: [
        (["--replay", "nosuch.har"], 37, "--replay: "),
        (["--replay", "broken.har"], 37, "'broken.har' is not a recording that can be replayed: line 2:1: "),
        (["--replay", "page.html"], 37, "'page.html' is not a recording that can be replayed: "),
        (
            ["--replay", "x.txt", "--replay-mode", "fill"], 2,
            "--replay: 'x.txt' will be written, so its name has to end in .har or .json"
        ),
        (["--replay-mode", "fill"], 2, "--replay-mode and --replay-speed need --replay FILE"),
        (["--replay", "broken.har", "--replay-mode", "all"], 2, "--replay-mode: the mode must be strict, fill or record"),
        (["--replay", "broken.har", "--replay-speed", "0"], 2, "--replay-speed: write a factor from 0.001 to 1000000"),
        (["--replay", ".", "--replay-mode", "fill"], 37, "--replay: "),
    ])
    func invalidReplayOptionsAreReported(arguments: [String], status: Int32, errorText: String) throws {
        try program.makeFile("broken.har", "{\"log\":{\n")
        try program.makeFile("page.html", "<!doctype html>")
        let outcome = try program.run(["get"] + arguments + ["data:,x"])
        #expect(outcome.status == status && outcome.output.isEmpty)
        #expect(outcome.errors.contains { $0.contains(errorText) }, "\(outcome.errors)")
    }
}

extension Data {
    fileprivate func removing(_ text: String) -> Data {
        guard let range = range(of: Data(text.utf8)) else { return self }
        return subdata(in: startIndex..<range.lowerBound) + subdata(in: range.upperBound..<endIndex)
    }
}
