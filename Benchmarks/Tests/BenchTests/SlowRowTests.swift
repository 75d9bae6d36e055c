// SPDX-License-Identifier: Apache-2.0

import Testing

/// The budgets are judged, and a row that has become slow is seen. The row is one whose budget is a ratio to a loop that is measured in turns
/// with it, so that a slow or busy machine changes both.
@Suite(.serialized)
struct SlowRowTests {
    private func measureBulk(isStrict: Bool = false, slow: String? = nil) throws -> BenchProgram.Outcome {
        let strict = isStrict ? ["--strict"] : []
        return try BenchProgram.run(["--row", "boundary-bulk", "--rounds", "9", "--plugins", BenchProgram.plugins] + strict, slow: slow)
    }

    @Test func rowThatDoesItsWorkThriceIsOverItsBudget() throws {
        let usual = try #require(try measureBulk().results.first)
        let slow = try #require(try measureBulk(slow: "boundary-bulk").results.first)
        #expect(usual.name == "boundary-bulk")
        #expect(usual.within)
        #expect(!slow.within)
        let (usualDirect, slowDirect) = (try #require(usual.peers["direct"]), try #require(slow.peers["direct"]))
        #expect(slow.value / slowDirect < usual.value / usualDirect / 2, "a rate, which is to be less than half of what it was")
    }

    @Test func slowRowFailsWhereBudgetsAreStrict() throws {
        let outcome = try measureBulk(isStrict: true, slow: "boundary-bulk")
        #expect(outcome.status == 1)
        #expect(outcome.output.contains("NO"))
        #expect(try measureBulk(slow: "boundary-bulk").status == 0)
    }

    @Test func anotherRowIsNotSlowed() throws {
        let row = try #require(try measureBulk(slow: "data-tiny").results.first)
        #expect(row.within)
    }
}
