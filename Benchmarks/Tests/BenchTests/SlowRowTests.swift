// SPDX-License-Identifier: Apache-2.0

import Testing

extension BenchTests {
    /// The budgets are judged, and a row that has become slow is seen. The row is one whose budget is a ratio to a peer that is measured in turns
    /// with it and goes the same way through the loader, so that a slow or busy machine, or a debug build, changes both.
    struct SlowRowTests {
        private func measureEcho(isStrict: Bool = false, slow: String? = nil) throws -> BenchProgram.Outcome {
            let strict = isStrict ? ["--strict"] : []
            return try BenchProgram.run(["--row", "echo-kit", "--rounds", "41", "--plugins", BenchProgram.plugins] + strict, slow: slow)
        }

        @Test func rowThatDoesItsWorkThriceIsOverItsBudget() throws {
            let usual = try #require(try measureEcho().results.first)
            let slow = try #require(try measureEcho(slow: "echo-kit").results.first)
            #expect(usual.name == "echo-kit")
            #expect(usual.within)
            #expect(!slow.within)
            let (usualPeer, slowPeer) = (try #require(usual.peers["C"]), try #require(slow.peers["C"]))
            #expect(slow.value / slowPeer > usual.value / usualPeer * 2, "a time, which is to be more than twice what it was")
        }

        @Test func slowRowFailsWhereBudgetsAreStrict() throws {
            let outcome = try measureEcho(isStrict: true, slow: "echo-kit")
            #expect(outcome.status == 1)
            #expect(outcome.output.contains("NO"))
            #expect(try measureEcho(slow: "echo-kit").status == 0)
        }

        @Test func anotherRowIsNotSlowed() throws {
            let row = try #require(try measureEcho(slow: "data-tiny").results.first)
            #expect(row.within)
        }
    }
}
