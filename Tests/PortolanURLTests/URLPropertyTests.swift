// SPDX-License-Identifier: Apache-2.0

import PortolanTestSupport
import PortolanURL
import Testing

/// Properties that hold for each parsed URL. The tests check them with samples, with truncated samples, and with
/// mutations that a seed determines.
@Suite struct URLPropertyTests {
    private let bases: [URLRecord]

    init() throws {
        bases = try ["http://u:p@h:81/a/b?q#f", "file:///C:/a/b", "foo://h/a", "foo:/.//a?q", "data:,x"].map { try URLRecord(parsing: $0) }
    }

    /// Parses a text without a base URL and with each base URL, and expects that each resulting URL has the properties.
    private func expectProperties(of text: String) throws {
        for base in [nil] + bases {
            guard let url = try? URLRecord(parsing: text, relativeTo: base) else { continue }
            let reparsedURL = try URLRecord(parsing: url.string)
            #expect(reparsedURL == url, "\(text.debugDescription) against \(base?.string ?? "nothing")")
            for component in URLRecord.Component.allCases { #expect(reparsedURL[component] == url[component], "\(text.debugDescription)") }
            #expect(reparsedURL.host == url.host && reparsedURL.port == url.port)
            #expect(reparsedURL.query == url.query && reparsedURL.fragment == url.fragment)
            #expect(reparsedURL.hasOpaquePath == url.hasOpaquePath)
            #expect(url.string.utf8.allSatisfy { $0 >= 0x20 && $0 < 0x7F })
            // An absolute URL does not depend on the base URL.
            #expect(try URLRecord(parsing: url.string, relativeTo: bases[0]) == url)
        }
    }

    @Test(arguments: canonicalURLs + nonCanonicalURLs) func serializationRoundTrips(text: String) throws { try expectProperties(of: text) }

    @Test(arguments: canonicalURLs + nonCanonicalURLs) func everyTruncationRoundTripsOrFails(text: String) throws {
        let scalars = Array(text.unicodeScalars)
        for length in scalars.indices {
            try expectProperties(of: String(String.UnicodeScalarView(scalars[..<length])))
            try expectProperties(of: String(String.UnicodeScalarView(scalars[length...])))
        }
    }

    @Test(arguments: canonicalURLs + nonCanonicalURLs) func insertedTabsAndNewlinesAreIgnored(text: String) {
        let expected = try? URLRecord(parsing: text)
        let scalars = Array(text.unicodeScalars)
        for (number, index) in (0...scalars.count).enumerated() {
            var mutated = scalars
            mutated.insert(["\t", "\n", "\r"][number % 3], at: index)
            #expect((try? URLRecord(parsing: String(String.UnicodeScalarView(mutated)))) == expected, "at \(index)")
        }
        let textWithNewlines = scalars.map { "\($0)\n" }.joined()
        #expect((try? URLRecord(parsing: textWithNewlines)) == expected)
    }

    @Test(arguments: 0..<400) func mutatedTextsKeepTheProperties(seed: UInt64) throws {
        var random = SeededGenerator(seed: seed)
        let samples = canonicalURLs + nonCanonicalURLs
        let alphabet = Array("\t\n \0/\\?#@:[]%.|^<>\"'`{}abCeE2017x-é😀\u{301}\u{200D}\u{AD}א。ßn".unicodeScalars)
        var scalars = Array(samples[Int.random(in: samples.indices, using: &random)].unicodeScalars)
        for _ in 0..<Int.random(in: 1...8, using: &random) {
            let index = Int.random(in: 0...scalars.count, using: &random)
            switch Int.random(in: 0..<3, using: &random) {
            case 0: scalars.insert(alphabet[Int.random(in: alphabet.indices, using: &random)], at: index)
            case 1 where index < scalars.count: scalars.remove(at: index)
            default: scalars.insert(contentsOf: scalars[index...].prefix(4), at: Int.random(in: 0...scalars.count, using: &random))
            }
        }
        try expectProperties(of: String(String.UnicodeScalarView(scalars)))
    }

    /// With a cost that grows with the square of the length, each text would take minutes.
    @Test(
        arguments: [
            "a/../", "../", "a/", "%2e%2E/", "@", ":", "/", "\\", "é", " ", "?", "[", ".", "1.", "\t", "0", "xn--", "xn--tda.", "ß.",
            "\u{301}",
        ],
        [
            "http://h/", "http://", "foo:/", "foo:/./", "file:", "file:///", "data:,", "http://u:", "http://h:", "http://h/?", "http://[",
        ])
    func hostileRepetitionParsesToALinearLength(unit: String, prefix: String) {
        let text = prefix + String(repeating: unit, count: 30_000)
        let url = try? URLRecord(parsing: text)
        #expect((url?.string.utf8.count ?? 0) <= 3 * text.utf8.count + 3)
    }

    @Test func dotDotSegmentsRemoveAllSegments() throws {
        let depth = 20_000
        let text = "http://h/" + String(repeating: "a/", count: depth) + String(repeating: "../", count: depth) + "b"
        #expect(try URLRecord(parsing: text).string == "http://h/b")
    }
}
