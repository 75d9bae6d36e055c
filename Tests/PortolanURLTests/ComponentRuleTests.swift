// SPDX-License-Identifier: Apache-2.0

import PortolanURL
import Testing

/// The parser reads long components in blocks of 64 bytes. The result must not depend on the position of a byte in its
/// block.
@Suite struct ComponentRuleTests {
    /// A component of a URL, whose text follows the prefix.
    private struct ComponentRow: Sendable, CustomTestStringConvertible {
        let prefix: String
        /// The printable ASCII characters that are percent-encoded in the component.
        let encodedCharacters: String
        /// The characters that end the component.
        let terminators: String
        var testDescription: String { prefix }
    }

    @Test(arguments: [
        ComponentRow(prefix: "data:", encodedCharacters: "", terminators: "?#"),
        ComponentRow(prefix: "foo://h?", encodedCharacters: "\"<>", terminators: "#"),
        ComponentRow(prefix: "http://h/?", encodedCharacters: "\"<>'", terminators: "#"),
        ComponentRow(prefix: "http://h/#", encodedCharacters: "\"<>`", terminators: ""),
        ComponentRow(prefix: "foo://h/", encodedCharacters: "\"<>`{}^", terminators: "?#"),
    ])
    private func eachByteIsHandledAtEachBlockPosition(row: ComponentRow) throws {
        for value in UInt8(0x21)...0x7F {
            let character = Character(Unicode.Scalar(value))
            let isEncoded = value == 0x7F || row.encodedCharacters.contains(character)
            for offset in [0, 1, 63, 64, 65, 127, 128, 143, 190, 199] {
                let before = String(repeating: "x", count: offset)
                let after = String(repeating: "y", count: 200 - offset)
                let url = try URLRecord(parsing: "\(row.prefix)\(before)\(character)\(after)")
                let expectedText = isEncoded ? "%" + String(value, radix: 16, uppercase: true) : String(character)
                #expect(url.string == "\(row.prefix)\(before)\(expectedText)\(after)")
                let isTerminator = row.terminators.contains(character)
                #expect((url.query == after[...] || url.fragment == after[...]) == isTerminator)
            }
        }
    }

    @Test(arguments: ["data:", "foo://h?", "http://h/?", "http://h/#", "http://h/"]) func controlsAndNonASCIIAreEncodedInLongText(
        prefix: String
    ) throws {
        for offset in [0, 63, 64, 130, 199] {
            let before = prefix + String(repeating: "x", count: offset)
            let after = String(repeating: "y", count: 200 - offset)
            #expect(try URLRecord(parsing: before + "\u{1F}é\u{10FFFF}" + after).string == before + "%1F%C3%A9%F4%8F%BF%BF" + after)
            #expect(try URLRecord(parsing: before + "\t" + after).string == before + after)
        }
    }
}
