// SPDX-License-Identifier: Apache-2.0

import Testing

@testable import bench

extension BenchTests {
    /// Tests budgets as pure functions of the values of a row and its peers.
    struct BudgetTests {
        private let peers = ["libcurl": 15.0, "raw": 10.0]

        @Test(arguments: [(13.5, true), (13.6, false), (9, true)])
        func budgetComparesCostsAboveTheRawLoop(value: Double, isKept: Bool) {
            let budget = Budget.atMost(0.7, of: "libcurl", over: "raw")
            #expect(budget.text == "over raw ≤ 0.7 × libcurl")
            #expect(budget.isKept(value, peers) == isKept, "libcurl costs 5 more than the raw loop")
        }

        @Test func budgetFailsIfItsPeersAreMissing() {
            #expect(!Budget.atMost(0.7, of: "libcurl", over: "raw").isKept(1, ["libcurl": 15]))
            #expect(!Budget.atMost(0.7, of: "libcurl", over: "raw").isKept(1, ["raw": 10]))
        }

        @Test func everyCombinedBudgetMustBeKept() {
            let budget = Budget.atMost(1, of: "libcurl").and(.atMost(1, of: "raw"))
            #expect(budget.isKept(10, peers))
            #expect(!budget.isKept(11, peers))
        }
    }
}
