// SPDX-License-Identifier: Apache-2.0

import Testing

@testable import PortolanCLI

@Suite struct CheckProgressTests {
    private func line(_ completedCount: Int, of total: Int, failures: Int = 0, columns: Int = 80) -> String {
        CheckProgress.line(completedCount, of: total, failures: failures, columns: columns)
    }

    @Test func lineCountsChecksAndFailures() {
        #expect(line(5, of: 10) == "[====================>                   ]  5 of 10 checks")
        #expect(line(10, of: 10, failures: 2).hasSuffix("=]  10 of 10 checks, 2 failed"))
        #expect(line(0, of: 0).hasSuffix("=]  0 of 0 checks"))
    }

    @Test(arguments: [0, 1, 2, 10, 20, 30, 41, 60, 200])
    func lineIsNarrowerThanTheTerminal(columns: Int) {
        #expect(line(123, of: 150, failures: 17, columns: columns).count <= max(0, columns - 1))
    }
}
