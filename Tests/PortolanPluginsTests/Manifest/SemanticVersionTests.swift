// SPDX-License-Identifier: Apache-2.0

import Testing

@testable import PortolanPlugins

/// Semantic Versioning 2.0.0 (semver.org).
@Suite struct SemanticVersionTests {
    @Test(arguments: [
        "0.0.4", "1.2.3", "10.20.30", "1.1.2-prerelease+meta", "1.1.2+meta", "1.0.0-alpha", "1.0.0-alpha.beta.1", "1.0.0-alpha0.valid",
        "1.0.0-rc.1+build.1", "1.0.0-0A.is.legal", "1.0.0-x-y-z.--", "1.0.0--", "1.0.0+0.build.1-rc.10000aaa-kk-0.1", "1.0.0-0.3.7",
        "1.0.0+001", "18446744073709551615.0.0",
    ])
    func versionRoundTrips(text: String) {
        #expect(SemanticVersion(text)?.description == text)
    }

    @Test(arguments: [
        "", "1", "1.2", "1.2.3.4", "01.1.1", "1.01.1", "1.1.01", "1.2.3-01", "1.2.3-a.01", "1.2.3-", "1.2.3+", "1.2.3-a..b", "1.2.3+a..b",
        "1.2.3-a_b", "1.2.3+a+b", "1.2.3-é", "v1.2.3", " 1.2.3", "1.2.3 ", "-1.2.3", "+1.2.3", "1.2.-3", "a.b.c", "1.2.3\u{301}", ".1.2.3",
        "18446744073709551616.0.0", "1.0.0-18446744073709551616",
    ])
    func invalidVersionIsRefused(text: String) {
        #expect(SemanticVersion(text) == nil)
    }

    /// The example of §11, with additional cases for its rules about numbers and words.
    private static let ascending = [
        "0.9.9", "1.0.0-0", "1.0.0-2", "1.0.0-10", "1.0.0--", "1.0.0-A", "1.0.0-alpha", "1.0.0-alpha.1", "1.0.0-alpha.beta", "1.0.0-beta",
        "1.0.0-beta.2", "1.0.0-beta.11", "1.0.0-rc.1", "1.0.0", "1.0.1-a", "1.0.1", "1.1.0", "2.0.0", "2.1.0", "2.1.1", "10.0.0",
    ]

    @Test func precedenceFollowsSemVer() throws {
        let versions = try Self.ascending.map { try #require(SemanticVersion($0)) }
        for (index, version) in versions.enumerated() {
            for (otherIndex, other) in versions.enumerated() {
                #expect((version < other) == (index < otherIndex), "\(version) < \(other)")
            }
        }
    }

    @Test func buildMetadataDoesNotAffectPrecedence() throws {
        let (a, b) = (try #require(SemanticVersion("1.0.0+a")), try #require(SemanticVersion("1.0.0+b")))
        #expect(!(a < b) && !(b < a) && a != b)
    }
}

@Suite struct VersionRangeTests {
    @Test(
        arguments: [
            (">=1.0.0", ["1.0.0", "1.0.0+b", "2.0.0"], ["0.9.0", "1.0.0-rc.1"]), ("<=1.0.0", ["1.0.0", "0.1.0", "1.0.0-a"], ["1.0.1"]),
            (">1.0.0", ["1.0.1"], ["1.0.0", "1.0.0+b"]), ("<1.0.0", ["1.0.0-a", "0.9.0"], ["1.0.0"]),
            ("=1.0.0", ["1.0.0", "1.0.0+b"], ["1.0.1"]),
            ("  >=0.1.0   <1.0.0 ", ["0.1.0", "0.99.0"], ["0.0.9", "1.0.0"]), (">2.0.0 <1.0.0", [], ["0.5.0", "1.5.0", "3.0.0"]),
        ] as [(String, [String], [String])])
    func versionMustMeetEveryComparison(text: String, acceptedVersions: [String], otherVersions: [String]) throws {
        let range = try #require(VersionRange(text))
        #expect(range.text == text)
        for version in acceptedVersions { #expect(range.contains(try #require(SemanticVersion(version))), "\(version)") }
        for version in otherVersions { #expect(!range.contains(try #require(SemanticVersion(version))), "\(version)") }
    }

    @Test(arguments: [
        "", " ", "1.0.0", ">=1.0", "=>1.0.0", ">= 1.0.0", "^1.0.0", "~1.0.0", "==1.0.0", ">=1.0.0,<2.0.0", ">=1.0.0\t<2.0.0", "*",
        "!=1.0.0",
        ">=0.1.0 x", ">0.0.1 >0.0.2 >0.0.3 >0.0.4 >0.0.5 >0.0.6 >0.0.7 >0.0.8 >0.0.9",
    ])
    func invalidRangeIsRefused(text: String) {
        #expect(VersionRange(text) == nil)
    }

    @Test func rangeHasAtMostEightComparisons() {
        #expect(VersionRange((1...8).map { ">0.0.\($0)" }.joined(separator: " ")) != nil)
    }
}
