// SPDX-License-Identifier: Apache-2.0

import PortolanURL
import Testing

/// Long components are read 64 bytes at a time. The result must not depend on the position of a byte in its block.
@Suite struct ComponentRuleTests {
    private struct Place: Sendable, CustomTestStringConvertible {
        let prefix: String
        /// The ASCII characters above the space that the component percent-encodes.
        let encoded: String
        /// The characters that end the component.
        let ends: String
        var testDescription: String { prefix }
    }

    @Test(arguments: [
        Place(prefix: "data:", encoded: "", ends: "?#"), Place(prefix: "foo://h?", encoded: "\"<>", ends: "#"),
        Place(prefix: "http://h/?", encoded: "\"<>'", ends: "#"), Place(prefix: "http://h/#", encoded: "\"<>`", ends: ""),
        Place(prefix: "foo://h/", encoded: "\"<>`{}^", ends: "?#"),
    ])
    private func everyByteIsHandledAtEveryBlockPosition(place: Place) throws {
        for value in UInt8(0x21)...0x7F {
            let character = Character(Unicode.Scalar(value))
            let isEncoded = value == 0x7F || place.encoded.contains(character)
            for offset in [0, 1, 63, 64, 65, 127, 128, 143, 190, 199] {
                let before = String(repeating: "x", count: offset)
                let after = String(repeating: "y", count: 200 - offset)
                let url = try URLRecord(parsing: "\(place.prefix)\(before)\(character)\(after)")
                let written = isEncoded ? "%" + String(value, radix: 16, uppercase: true) : String(character)
                #expect(url.string == "\(place.prefix)\(before)\(written)\(after)")
                let isOver = place.ends.contains(character)
                #expect((url.query == after[...] || url.fragment == after[...]) == isOver)
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
