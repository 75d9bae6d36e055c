// SPDX-License-Identifier: Apache-2.0

import PortolanCoding
import Testing

@Suite struct CRC32Tests {
    /// The check value of the algorithm, and others of `gzip -l -v`.
    @Test(arguments: [("", 0), ("123456789", 0xCBF4_3926), ("\u{1}\u{2}\u{3}\u{4}", 0xB63C_FBCD)] as [(String, UInt32)])
    func checksumIsThatOfGzip(_ text: String, _ expected: UInt32) {
        #expect(unsafe CRC32.checksum(of: Array(text.utf8).span.bytes) == expected)
    }
}
