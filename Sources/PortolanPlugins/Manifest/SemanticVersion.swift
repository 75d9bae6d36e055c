// SPDX-License-Identifier: Apache-2.0

/// A version according to Semantic Versioning 2.0.0, with its order.
public struct SemanticVersion: Hashable, Sendable {
    public let major, minor, patch: UInt64
    /// The identifiers after `-`. Empty for a release.
    public let prerelease: [String]
    /// The text after `+`, which does not affect the order.
    public let build: String?

    /// - Returns: `nil` if the text is not a version, or if a number exceeds 64 bits.
    public init?(_ text: String) {
        self.init(text.utf8[...])
    }

    init?(_ text: Substring.UTF8View) {
        let (rest, build) = Self.split(text, at: UInt8(ascii: "+"))
        let (core, prerelease) = Self.split(rest, at: UInt8(ascii: "-"))
        let (first, afterFirst) = Self.split(core, at: UInt8(ascii: "."))
        guard let afterFirst, case (let second, let third?) = Self.split(afterFirst, at: UInt8(ascii: ".")) else { return nil }
        guard let major = Self.number(first), let minor = Self.number(second), let patch = Self.number(third) else { return nil }
        (self.major, self.minor, self.patch) = (major, minor, patch)
        guard let identifiers = prerelease.map(Self.identifiers) ?? [] else { return nil }
        guard identifiers.allSatisfy({ !Self.isNumeric($0) || Self.number($0.utf8[...]) != nil }) else { return nil }
        self.prerelease = identifiers
        guard build.map({ Self.identifiers($0) != nil }) ?? true else { return nil }
        self.build = build.flatMap { String($0) }
    }

    private static func split(
        _ text: Substring.UTF8View, at separator: UInt8
    ) -> (before: Substring.UTF8View, after: Substring.UTF8View?) {
        guard let index = text.firstIndex(of: separator) else { return (text, nil) }
        return (text[..<index], text[text.index(after: index)...])
    }

    /// Returns the identifiers between dots. `nil` if one is empty or has a character other than letters, digits and
    /// `-`.
    private static func identifiers(_ text: Substring.UTF8View) -> [String]? {
        let parts = text.split(separator: UInt8(ascii: "."), omittingEmptySubsequences: false)
        let areValid = parts.allSatisfy { part in
            !part.isEmpty && part.allSatisfy { Text.isAlphanumeric($0) || $0 == UInt8(ascii: "-") }
        }
        return areValid ? parts.map { String(Substring($0)) } : nil
    }

    /// Parses a number without a leading zero.
    private static func number(_ digits: Substring.UTF8View) -> UInt64? {
        guard !digits.isEmpty, digits.first != UInt8(ascii: "0") || digits.dropFirst().isEmpty else { return nil }
        var number: UInt64 = 0
        for digit in digits {
            guard Text.isDigit(digit) else { return nil }
            let (tens, multiplicationOverflows) = number.multipliedReportingOverflow(by: 10)
            let (sum, additionOverflows) = tens.addingReportingOverflow(UInt64(digit - UInt8(ascii: "0")))
            guard !multiplicationOverflows, !additionOverflows else { return nil }
            number = sum
        }
        return number
    }

    private static func isNumeric(_ identifier: String) -> Bool { identifier.utf8.allSatisfy(Text.isDigit) }
}

extension SemanticVersion: Comparable {
    /// Precedence (§11). Versions that differ only in ``build`` have the same precedence.
    public static func < (a: Self, b: Self) -> Bool {
        let (left, right) = ((a.major, a.minor, a.patch), (b.major, b.minor, b.patch))
        guard left == right else { return left < right }
        switch (a.prerelease.isEmpty, b.prerelease.isEmpty) {
        case (true, _): return false
        case (false, true): return true
        case (false, false): return a.prerelease.lexicographicallyPrecedes(b.prerelease, by: precedes)
        }
    }

    private static func precedes(_ a: String, _ b: String) -> Bool {
        switch (UInt64(a), UInt64(b)) {
        case (let a?, let b?): a < b
        case (_?, nil): true
        case (nil, _?): false
        case (nil, nil): a.utf8.lexicographicallyPrecedes(b.utf8)
        }
    }
}

extension SemanticVersion: CustomStringConvertible {
    public var description: String {
        let prerelease = prerelease.isEmpty ? "" : "-" + self.prerelease.joined(separator: ".")
        return "\(major).\(minor).\(patch)\(prerelease)\(build.map { "+" + $0 } ?? "")"
    }
}
