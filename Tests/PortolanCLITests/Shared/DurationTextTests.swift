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
}
