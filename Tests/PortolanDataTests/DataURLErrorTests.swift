// SPDX-License-Identifier: Apache-2.0

import PortolanData
import Testing

/// The messages of `DataURLError`.
@Suite struct DataURLErrorTests {
    @Test(
        arguments: [
            ("text:,x", "the URL does not start with \"data:\""),
            ("data:text/html", "the data: URL ends at offset 14 without a comma: write one before the data, as in \"data:text/plain,…\""),
            (
                "data:;base64,QU.D",
                "the data: URL says ;base64, but the byte 0x2E '.' at offset 15 is not base64: write A–Z a–z 0–9 + / only"
            ),
            (
                "data:;base64,QU_D",
                "the data: URL says ;base64, but the byte 0x5F '_' at offset 15 is not base64: write A–Z a–z 0–9 + / only"
                    + " (base64url's - and _ are + and / here)"
            ),
            (
                "data:;base64,%01",
                "the data: URL says ;base64, but the byte 0x01 at offset 13 is not base64: write A–Z a–z 0–9 + / only"
            ),
            (
                "data:;base64,QQ==QQ==",
                "the data: URL says ;base64, but the base64 text continues at offset 17 after its padding: write '=' signs only at the end"
            ),
            (
                "data:;base64,QQ=",
                "the data: URL says ;base64, but the base64 padding at offset 15 is wrong (3 characters including padding): "
                    + "write one or two '=' signs that fill the last group of four, or none"
            ),
            (
                "data:;base64,QUJDQ",
                "the data: URL says ;base64, but the count of base64 characters, 5, is one more than a multiple of four: "
                    + "the text was cut short, or has one too many"
            ),
        ])
    func messageStatesTheProblemItsOffsetAndTheRemedy(url: String, message: String) throws {
        let error = try #require(throws: DataURLError.self) { try DataURLDecoder(parsing: url) }
        #expect(error.description == message)
    }
}
