// SPDX-License-Identifier: Apache-2.0

import Testing

extension BenchTests {
    /// The budgets are judged, and a row that has become slow is seen. The row is one whose budget is a ratio to a peer that is measured in turns
    /// with it and goes the same way through the loader, so that a slow or busy machine, or a debug build, changes both. Whether the row is
    /// within its budget is for `make bench` to say: these tests compare a row that does its work three times with one that does it once.
    struct SlowRowTests {
        private func measureEcho(isStrict: Bool = false, slow: String? = nil) throws -> BenchProgram.Outcome {
            let strict = isStrict ? ["--strict"] : []
            return try BenchProgram.run(["--row", "echo-kit", "--rounds", "41", "--plugins", BenchProgram.plugins] + strict, slow: slow)
        }

        private func ratio(of row: BenchProgram.Result) throws -> Double { row.value / (try #require(row.peers["C"])) }

        @Test func rowThatDoesItsWorkThriceIsOverItsBudget() throws {
            let usual = try #require(try measureEcho().results.first)
            let slow = try #require(try measureEcho(slow: "echo-kit").results.first)
            #expect(usual.name == "echo-kit")
            #expect(!slow.within)
            #expect(try ratio(of: slow) > ratio(of: usual) * 1.5, "a time, which is to be three times what it was")
        }

        @Test func slowRowFailsWhereBudgetsAreStrict() throws {
            let outcome = try measureEcho(isStrict: true, slow: "echo-kit")
            #expect(outcome.status == 1)
            #expect(outcome.output.contains("NO"))
            #expect(try measureEcho(slow: "echo-kit").status == 0)
        }

        @Test func anotherRowIsNotSlowed() throws {
            let row = try #require(try measureEcho(slow: "data-tiny").results.first)
            let slow = try #require(try measureEcho(slow: "echo-kit").results.first)
            #expect(try ratio(of: slow) > ratio(of: row) * 1.5)
        }
    }
}
