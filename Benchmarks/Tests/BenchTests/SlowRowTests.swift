// SPDX-License-Identifier: Apache-2.0

import Testing

extension BenchTests {
    /// Tests that `bench` checks budgets and detects a slow row. The budget of the tested row is a ratio to a peer that
    /// takes the same path through the loader, so that a slow machine or a debug build changes both values. The tests
    /// compare a row that does its work three times with a row that does it once.
    struct SlowRowTests {
        private func measureEcho(isStrict: Bool = false, slow: String? = nil) throws -> BenchProgram.Outcome {
            let strict = isStrict ? ["--strict"] : []
            return try BenchProgram.run(["--row", "echo-kit", "--rounds", "41", "--plugins", BenchProgram.plugins] + strict, slow: slow)
        }

        private func ratio(of row: BenchProgram.Result) throws -> Double { row.value / (try #require(row.peers["C"])) }

        @Test func rowThatRepeatsItsWorkExceedsItsBudget() throws {
            let usual = try #require(try measureEcho().results.first)
            let slow = try #require(try measureEcho(slow: "echo-kit").results.first)
            #expect(usual.name == "echo-kit")
            #expect(!slow.within)
            #expect(try ratio(of: slow) > ratio(of: usual) * 1.5, "the slow row should take about three times as long")
        }

        @Test func strictBudgetFailsASlowRow() throws {
            let outcome = try measureEcho(isStrict: true, slow: "echo-kit")
            #expect(outcome.status == 1)
            #expect(outcome.output.contains("NO"))
            #expect(try measureEcho(slow: "echo-kit").status == 0)
        }

        @Test func slowingOneRowLeavesOtherRowsUnchanged() throws {
            let row = try #require(try measureEcho(slow: "data-tiny").results.first)
            let slow = try #require(try measureEcho(slow: "echo-kit").results.first)
            #expect(try ratio(of: slow) > ratio(of: row) * 1.5)
        }
    }
}
