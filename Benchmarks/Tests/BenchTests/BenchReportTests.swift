// SPDX-License-Identifier: Apache-2.0

import Foundation
import ServerSupport
import Testing

@testable import bench

extension BenchTests {
    /// The page of the results.
    struct BenchReportTests {
        private let results = [
            RowResult(
                name: "http-get", unit: "µs", value: 12, peers: ["raw": 8, "<b>": 16], budget: "≤ 0.7 × <b>", limits: [11.2], within: false),
            RowResult(name: "data", unit: "GB/s", value: 2, peers: ["loop": 0], budget: "≥ 1 GB/s", limits: [1], within: true),
        ]

        @Test func pageHasProportionalBarsAndNamesEachBudgetResult() {
            let text = BenchReportPage(results).text
            for part in [
                "1 of 2 rows are over their budgets: http-get.", "✕ over budget: ≤ 0.7 × &lt;b&gt;", "✓ within budget: ≥ 1 GB/s",
                "µs, less is better", "GB/s, more is better", #"<td>&lt;b&gt;</td><td class="number">16</td>"#,
                #"class="bar own" style="width:75%""#, #"class="bar peer" style="width:50%""#, #"class="line" style="left:70%""#,
                #"<td class="number">0.75</td>"#, #"<td>loop</td><td class="number">0</td><td class="number">–</td>"#,
            ] {
                #expect(text.contains(part), "\(part)")
            }
            #expect(!text.contains("<b>16") && BenchReportPage([results[1]]).text.contains("All 1 rows are within"))
            #expect(BenchReportPage([]).text.contains("No row was measured."))
        }

        @Test func pageOpensInABrowser() throws {
            try BenchProgram.withFolder { folder in
                let file = folder.appendingPathComponent("report.html")
                try Data(BenchReportPage(results).text.utf8).write(to: file)
                let page = try HeadlessBrowser(in: folder).open(file)
                #expect(page.consoleLines.isEmpty, "\(page.consoleLines)")
                #expect(page.document.components(separatedBy: "<tbody>").count == 3)
            }
        }

        @Test func limitIsTheLastValueWithinTheBudget() {
            let peers = ["libcurl": 15.0, "raw": 10.0]
            let budget = Budget.atMost(0.7, of: "libcurl", over: "raw").and(.atLeast(0.5, of: "raw")).and(
                .atMost(4, .nanoseconds, over: "raw"))
            #expect(budget.limits(peers) == [13.5, 5, 14])
            #expect(budget.limits([:]).isEmpty && Budget.none.limits(peers).isEmpty && Budget.none.isKept(1, [:]))
        }
    }
}
