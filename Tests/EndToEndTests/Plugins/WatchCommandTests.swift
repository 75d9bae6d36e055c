// SPDX-License-Identifier: Apache-2.0

import Foundation
import TestThreads
import Testing

/// Runs `portolan plugins watch` and waits for each event before the next change.
@Suite(.blocking, .timeLimit(.minutes(10))) struct WatchCommandTests {
    private let program: Program

    init() throws {
        program = try Program()
        try program.makeFile("plugin/plugin.plugin.json", Self.manifest())
        for number in 1...3 { try program.copyFixture("generation-\(number).so") }
        try program.copyFixture("generation-refuses.so")
        try program.copyFixture("generation-1.so", to: "plugin/plugin.so")
    }

    private static func manifest(version: String = "1.0.0") -> String {
        """
        {"identifier": "org.portolan.generation", "name": "G", "vendor": "V", "version": "\(version)", "library": "plugin.so",
         "schemes": ["generation"], "conformance": {"loads": [{"url": "generation://1", "tags": ["small"]}, {"url": "generation://x", "error": "notFound", "tags": ["fails"]}]}}
        """
    }

    /// Runs the command with `arguments`, and each change as a shell command, after the command has printed `after`
    /// further lines.
    private func watch(_ arguments: String, _ changes: [(after: Int, change: String)]) throws -> Program.Outcome {
        let steps = changes.map { "for i in $(seq \($0.after)); do read -r line <&3; printf '%s\\n' \"$line\"; done; \($0.change)" }.joined(
            separator: "\n")
        return try program.runScript(
            """
            cd '\(program.path)' && mkfifo out || exit 99
            $portolan plugins watch \(arguments) > out & pid=$!
            exec 3< out
            \(steps)
            cat <&3
            wait $pid
            """)
    }

    @Test func eachBuildIsReloadedAndLoaded() throws {
        let outcome = try watch(
            "plugin generation://2 --changes 4",
            [
                (3, "mv generation-2.so plugin/plugin.so"), (3, "cp generation-refuses.so plugin/plugin.so"),
                (3, "rm plugin/plugin.so; cp generation-3.so plugin/plugin.so"),
                (3, "sed -i s/1.0.0/1.0.1/ plugin/plugin.plugin.json"),
            ])
        func lines(_ head: String, _ build: Int) -> [String] {
            [head, "generation://2: text/plain, 4 bytes in N ms", "    \(build) \(build) "]
        }
        let outputLines = outcome.text.split(separator: "\n").map { $0.replacing(/in [0-9]+ ms/, with: "in N ms") }
        let name = "org.portolan.generation"
        let refusal =
            "\(name): not reloaded, 1.0.0 keeps serving: the plugin \(name) refused to start: this build never starts"
        let expectedLines = [
            lines("\(name) 1.0.0: opened, serves generation:", 1), lines("\(name) 1.0.0: reloaded, serves generation:", 2),
            lines(refusal, 2),
            lines("\(name) 1.0.0: reloaded, serves generation:", 3), lines("\(name) 1.0.1: reloaded, serves generation:", 3),
        ]
        // sh(1) strips the spaces at both ends of a line.
        #expect(
            outputLines.map { $0.trimmingCharacters(in: .whitespaces) }
                == expectedLines.flatMap { $0 }.map { $0.trimmingCharacters(in: .whitespaces) })
        #expect(outcome.status == 0)
    }

    @Test func watchPrintsJSON() throws {
        let outcome = try watch("plugin generation://1 --json --changes 1", [(2, "echo '{' > plugin/plugin.plugin.json")])
        let events = try outcome.lines.map { try #require(try JSONSerialization.jsonObject(with: Data($0.utf8)) as? [String: Any]) }
        #expect(events.map { $0["event"] as? String } == ["opened", "loaded", "refused", "loaded"])
        try #require(events.count > 3)
        #expect(events[0]["plugin"] as? String == "org.portolan.generation" && events[0]["version"] as? String == "1.0.0")
        #expect(events[0]["problems"] as? [String] == [] && events[0]["warnings"] as? [String] == [])
        #expect(events[1]["body"] as? String == "1 " && events[1]["mime"] as? String == "text/plain" && events[1]["length"] as? Int == 2)
        #expect(events[1]["error"] is NSNull && events[1]["status"] is NSNull && events[1]["milliseconds"] is Int)
        #expect((events[2]["problems"] as? [String])?.first?.contains("MANIF-01") == true)
        #expect(events[3]["body"] as? String == "1 ")
        #expect(outcome.status == 107)
    }

    @Test func missingPluginIsAFailure() throws {
        let outcome = try program.run("plugins", "watch", "nowhere")
        #expect(outcome.status == 107 && outcome.errors.count == 1)
    }

    @Test func watchWithoutChangesOpensOnce() throws {
        let outcome = try program.run("plugins", "watch", "\(program.path)/plugin", "--changes", "0")
        #expect(outcome.lines == ["org.portolan.generation 1.0.0: opened, serves generation:"])
        #expect(outcome.status == 0)
    }

    /// Uses SIGTERM, because sh(1) makes background processes ignore SIGINT.
    @Test func signalEndsTheCommand() throws {
        let outcome = try watch("plugin", [(1, "kill -TERM $pid")])
        #expect(outcome.status == 143)
    }
}
