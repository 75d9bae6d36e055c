// SPDX-License-Identifier: Apache-2.0

import PortolanCore
import Testing

@Suite struct MIMETypeInvariantTests {
    /// Pseudorandom numbers that are the same in every run (xorshift, 64 bits).
    private struct XorshiftGenerator: RandomNumberGenerator {
        var state: UInt64

        mutating func next() -> UInt64 {
            state ^= state << 13
            state ^= state >> 7
            state ^= state << 17
            return state
        }
    }

    private static let fragments = [
        ";", ";", "=", "=", "\"", "\"", "\\", " ", "\t", "\n", "\u{C}", "/", ",", "(", "x", "Y", "charset", "utf-8", "\"a\\\"b\"", "\u{80}",
        "\u{FF}", "\u{100}",
        "\u{301}", "\r\n", "\u{0}",
    ]

    @Test(arguments: 1...20 as ClosedRange<UInt64>)
    func parsedTypesAreValidAndRoundTrip(seed: UInt64) throws {
        var generator = XorshiftGenerator(state: seed &* 0x9E37_79B9_7F4A_7C15)
        for _ in 0..<300 {
            let count = Int.random(in: 0...14, using: &generator)
            let text = "a/b;" + (0..<count).compactMap { _ in Self.fragments.randomElement(using: &generator) }.joined()
            let type = try #require(MIMEType(parsing: text))
            #expect(type.essence == "a/b")
            #expect(Set(type.parameters.map(\.name)).count == type.parameters.count)
            for parameter in type.parameters {
                #expect(!parameter.name.isEmpty && parameter.name.unicodeScalars.allSatisfy(MIMETypeParsingTests.isToken))
                #expect(parameter.name == parameter.name.lowercased())
                #expect(parameter.value.unicodeScalars.allSatisfy(MIMETypeParsingTests.isQuotable))
            }
            #expect(MIMEType(parsing: type.description) == type)
        }
    }

    @Test func truncationsParseOnceTheSubtypeHasBegun() {
        let text = "Text/HTML ; a=\"b\\\"c;d\"e ; charset=utf-8;f=g"
        for end in text.utf8.indices {
            let truncation = text[..<end]
            #expect((MIMEType(parsing: String(truncation)) != nil) == (truncation.utf8.count > 5), "\(truncation)")
        }
    }

    @Test func manyParametersStayUniqueAndInOrder() throws {
        let parameters = (0..<40).map { "p\($0)=\($0)" }.joined(separator: ";")
        let type = try #require(MIMEType(parsing: "a/b;\(parameters);\(parameters.uppercased())"))
        #expect(type.parameters.map(\.name) == (0..<40).map { "p\($0)" })
        #expect(type.parameters.map(\.value) == (0..<40).map { "\($0)" })
    }

    @Test(.timeLimit(.minutes(10))) func manyParametersParseInLinearTime() throws {
        // A parser that compares each name with all others would take hours.
        let text = (0..<200_000).map { "p\($0)=1" }.joined(separator: ";")
        #expect(try #require(MIMEType(parsing: "a/b;\(text)")).parameters.count == 200_000)
    }
}
