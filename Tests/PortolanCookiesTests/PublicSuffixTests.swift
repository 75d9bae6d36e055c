// SPDX-License-Identifier: Apache-2.0

import FoundationEssentials
import Testing

@testable import PortolanCookies

/// Look-ups in the Public Suffix List, and a comparison of the table with Debian's list.
@Suite struct PublicSuffixTests {
    @Test(
        arguments: [
            ("com", nil), ("example.com", "example.com"), ("a.b.example.com", "example.com"), ("co.uk", nil),
            ("example.co.uk", "example.co.uk"),
            ("www.example.co.uk", "example.co.uk"), ("uk", nil), ("www.ck", "www.ck"), ("a.www.ck", "www.ck"), ("other.ck", nil),
            ("a.other.ck", "a.other.ck"), ("b.a.other.ck", "a.other.ck"), ("ck", nil), ("city.kawasaki.jp", "city.kawasaki.jp"),
            ("x.kawasaki.jp", nil), ("kawasaki.jp", "kawasaki.jp"), ("github.io", nil), ("user.github.io", "user.github.io"),
            ("localhost", nil),
            ("a.localhost", "a.localhost"), ("unknown-tld", nil), ("a.b.unknown-tld", "b.unknown-tld"), ("example.com.", "example.com."),
            ("a.example.com.", "example.com."),
            ("com.", nil), ("xn--85x722f.xn--55qx5d.cn", "xn--85x722f.xn--55qx5d.cn"), ("xn--55qx5d.cn", nil), ("127.0.0.1", nil),
            ("[::1]", nil),
            ("1.2.3.4.example.com", "example.com"),
        ] as [(String, String?)])
    func registrableDomainIsFound(host: String, domain: String?) {
        #expect(PublicSuffixList.registrableDomain(of: host) == domain)
    }

    @Test(arguments: [
        ("com", true), ("com.", true), ("co.uk", true), ("example.com", false), ("other.ck", true), ("www.ck", false), ("localhost", true),
        ("0.0.1", false), ("127.0.0.1", false), ("", false), ("github.io", true),
    ])
    func publicSuffixIsRecognized(host: String, isSuffix: Bool) {
        #expect(PublicSuffixList.isPublicSuffix(host) == isSuffix)
    }

    /// A look-up finds each line of the table, and nothing between two lines.
    @Test func lookUpFindsEachLineOfTheTable() {
        let text = unsafe Array(
            UnsafeBufferPointer(start: PublicSuffixTable.lines.utf8Start, count: PublicSuffixTable.lines.utf8CodeUnitCount))
        var count = 0
        for line in text.split(separator: UInt8(ascii: "\n")) {
            let domain = Array(line.dropLast(2))
            if PublicSuffixTable.rule(for: domain)?.rawValue != (line.last ?? 0) - UInt8(ascii: "0") { Issue.record("\(domain)") }
            if PublicSuffixTable.rule(for: domain + [UInt8(ascii: "!")]) != nil { Issue.record("after \(domain)") }
            count += 1
        }
        #expect(count > 9000)
    }

    /// The table was generated from Debian's list, and can be older than the installed list.
    @Test func tableHasTheRulesOfTheInstalledList() throws {
        let list = try String(contentsOfFile: "/usr/share/publicsuffix/public_suffix_list.dat", encoding: .utf8)
        var (ruleCount, foundCount) = (0, 0)
        for line in list.split(separator: "\n") where !line.hasPrefix("//") && line.utf8.allSatisfy({ $0 < 0x80 }) {
            let (rule, expected): (Substring, PublicSuffixRule) =
                line.hasPrefix("*.")
                ? (line.dropFirst(2), .wildcard) : line.hasPrefix("!") ? (line.dropFirst(), .exception) : (line, .suffix)
            ruleCount += 1
            if PublicSuffixTable.rule(for: Array(rule.utf8))?.contains(expected) == true { foundCount += 1 }
        }
        #expect(ruleCount > 8000 && foundCount * 100 >= ruleCount * 95, "\(foundCount) of \(ruleCount)")
    }
}
