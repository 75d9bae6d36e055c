// SPDX-License-Identifier: Apache-2.0

import Foundation
import TestThreads
import Testing

/// Plugins that violate the contract and try to forge a passed `portolan check`.
@Suite(.blocking, .timeLimit(.minutes(10)), .enabled(if: !Program.isSanitized, "AddressSanitizer finds some of them first"))
struct ForgedVerdictTests {
    static let ways = [
        "writes", "constructs", "forks-to-write", "forks-to-go-on", "closes", "fills-memory", "writes-to-parent", "kills-parent",
        "stops-parent", "traces-parent", "frees-and-kills-parent", "executes", "exits", "ends-the-thread", "sets-an-alarm", "scribbles",
    ]

    private struct Report: Decodable {
        struct Result: Decodable {
            let id, verdict: String
            let note: String?
        }
        let results: [Result]
    }

    private func results(_ way: String, _ arguments: String...) throws -> [Report.Result] {
        let program = try Program()
        let plugin = try program.copyFixture("forger-\(way).so")
        let outcome = try program.run(["check", plugin, "--json"] + arguments)
        #expect(outcome.status == 111, "\(outcome.text) \(outcome.errors)")
        return try JSONDecoder().decode(Report.self, from: outcome.output).results
    }

    @Test(arguments: ways) func pluginThatEndsACheckDoesNotPassIt(_ way: String) throws {
        let startTime = ContinuousClock.now
        let results = try results(way, "--filter", "DESC-04,DESC-06,REG-01", "--timeout", "60")
        #expect(results.count >= 3)
        for result in results { #expect(result.verdict == "crashed" || result.id == "UNLOAD-04", "\(result)") }
        #expect(ContinuousClock.now - startTime < .seconds(50), "the end of a process is noticed immediately")
    }

    /// All checks up to level 3 take 20 seconds of processor time, so only one plugin gets them.
    @Test(arguments: [("writes", "3"), ("forks-to-write", "1"), ("fills-memory", "1"), ("kills-parent", "1")])
    func forgerPassesNoCheckThatCallsIt(_ way: String, level: String) throws {
        // These checks only read or open the file, and call none of the plugin's functions.
        let checksOfTheFile: Set = ["DESC-01", "DESC-02", "DESC-12", "SEC-05"]
        for result in try results(way, "--level", level) {
            #expect(result.verdict != "passed" || checksOfTheFile.contains(result.id), "\(result)")
        }
    }

    @Test func forgerPassesNoCheckUnderValgrind() throws {
        for result in try results("writes", "--sanitizer", "--filter", "DESC-03") { #expect(result.verdict == "crashed", "\(result)") }
    }
}
