// SPDX-License-Identifier: Apache-2.0

import Testing

@testable import PortolanCLI

@Suite struct DurationTextTests {
    @Test(arguments: [
        (Duration.zero, "0.0", "0"), (.milliseconds(1500), "1500.0", "1.5"), (.microseconds(-390), "-0.3", "0"),
        (.milliseconds(-1500), "-1500.0", "-1.5"),
        (.milliseconds(-300), "-300.0", "-0.3"), (.seconds(-2), "-2000.0", "-2"),
    ])
    func negativeTimesHaveOneSign(time: Duration, milliseconds: String, seconds: String) {
        #expect(time.milliseconds == milliseconds && time.secondsText == seconds)
    }

    @Test(
        arguments: [
            (-5, "0 s"), (0, "0 s"), (119, "119 s"), (120, "2 min"), (599, "9 min 59 s"), (7199, "119 min 59 s"), (7200, "2 h"),
            (7259, "2 h"), (7260, "2 h 1 min"), (172_799, "47 h 59 min"), (172_800, "2 days"), (31_535_999, "364 days 23 h"),
            (.max, "106751991167300 days 15 h"),
        ] as [(Int64, String)])
    func secondsHaveOneOrTwoUnits(seconds: Int64, text: String) { #expect(Duration.text(ofSeconds: seconds) == text) }
}
