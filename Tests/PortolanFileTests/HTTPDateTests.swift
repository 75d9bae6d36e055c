// SPDX-License-Identifier: Apache-2.0

import PortolanFile
import Testing

@Suite struct HTTPDateTests {
    /// Beside what `date -u -d @SECONDS` says.
    static let moments: [(Int64, String?)] = [
        (0, "Thu, 01 Jan 1970 00:00:00 GMT"), (784_111_777, "Sun, 06 Nov 1994 08:49:37 GMT"), (-1, "Wed, 31 Dec 1969 23:59:59 GMT"),
        (951_782_400, "Tue, 29 Feb 2000 00:00:00 GMT"), (951_868_800, "Wed, 01 Mar 2000 00:00:00 GMT"),
        (1_709_251_199, "Thu, 29 Feb 2024 23:59:59 GMT"), (4_107_542_400, "Mon, 01 Mar 2100 00:00:00 GMT"),
        (-2_203_891_200, "Thu, 01 Mar 1900 00:00:00 GMT"), (253_402_300_799, "Fri, 31 Dec 9999 23:59:59 GMT"), (253_402_300_800, nil),
        (-62_167_219_200, "Sat, 01 Jan 0000 00:00:00 GMT"), (-62_167_219_201, nil), (.max, nil), (.min, nil),
    ]

    @Test(arguments: moments) func isWrittenAsIMFFixdate(_ seconds: Int64, _ text: String?) {
        #expect(HTTPDate(secondsSince1970: seconds)?.description == text)
    }
}
