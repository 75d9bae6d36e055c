// SPDX-License-Identifier: Apache-2.0

import Testing

@testable import PortolanCLI

@Suite struct ProgressBarTests {
    private func line(_ received: Int64, of expected: Int64?, columns: Int = 80) -> String {
        ProgressBar.line(received: received, of: expected, after: .seconds(2), columns: columns)
    }

    @Test func knownLengthShowsABar() {
        #expect(line(1024, of: 2048) == "[====================>                   ]   50 %  1.0 KiB of 2.0 KiB  512 B/s")
        #expect(line(2048, of: 2048, columns: 90).hasPrefix("[========================================]  100 %"))
        #expect(line(0, of: 0).contains("100 %"))
    }

    @Test func unknownLengthShowsSizeAndSpeed() {
        #expect(line(3 << 20, of: nil) == "3.0 MiB  1.5 MiB/s")
    }

    @Test(arguments: [0, 1, 2, 10, 20, 40, 41, 60, 200])
    func lineIsNarrowerThanTheTerminal(columns: Int) {
        #expect(line(123_456_789, of: 987_654_321, columns: columns).count <= max(0, columns - 1))
    }

    @Test(arguments: [(0.0, "0 B"), (1023, "1023 B"), (1024, "1.0 KiB"), (1_572_864, "1.5 MiB"), (1.1e15, "1000.4 TiB")])
    func sizesAreAbbreviated(bytes: Double, text: String) {
        #expect(ProgressBar.size(bytes) == text)
    }
}
