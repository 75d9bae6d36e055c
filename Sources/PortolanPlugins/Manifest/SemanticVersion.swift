// SPDX-License-Identifier: Apache-2.0

/// A version and its place among others: Semantic Versioning 2.0.0.
public struct SemanticVersion: Hashable, Sendable {
    public let major, minor, patch: UInt64
    /// The identifiers after `-`; none for a release.
    public let prerelease: [String]
    /// What follows `+`, which orders nothing.
    public let build: String?

    /// - Returns: `nil` for what is no version, numbers beyond 64 bits included.
    public init?(_ text: String) {
        let (rest, build) = Self.split(text[...], at: "+")
        let (core, prerelease) = Self.split(rest, at: "-")
        let numbers = core.utf8.split(separator: UInt8(ascii: "."), omittingEmptySubsequences: false).map(Self.number)
        guard numbers.count == 3, let major = numbers[0], let minor = numbers[1], let patch = numbers[2] else { return nil }
        (self.major, self.minor, self.patch) = (major, minor, patch)
        let identifiers = prerelease.map(Self.identifiers) ?? []
        guard let identifiers, identifiers.allSatisfy({ !Self.isNumeric($0) || Self.number($0.utf8[...]) != nil }) else { return nil }
        self.prerelease = identifiers
        guard build.map({ Self.identifiers($0) != nil }) ?? true else { return nil }
        self.build = build.map(String.init)
    }

    private static func split(_ text: Substring, at mark: Character) -> (before: Substring, after: Substring?) {
        guard let index = text.firstIndex(of: mark) else { return (text, nil) }
        return (text[..<index], text[text.index(after: index)...])
    }

    /// The identifiers between dots, or `nil` where one is empty or has another character than letters, digits and `-`.
    private static func identifiers(_ text: Substring) -> [String]? {
        let parts = text.split(separator: ".", omittingEmptySubsequences: false)
        let areWhole = parts.allSatisfy { part in
            !part.isEmpty && part.utf8.allSatisfy { Text.isAlphanumeric($0) || $0 == UInt8(ascii: "-") }
        }
        return areWhole ? parts.map(String.init) : nil
    }

    /// A number without a leading zero.
    private static func number(_ digits: Substring.UTF8View.SubSequence) -> UInt64? {
        guard digits.count <= 1 || digits.first != UInt8(ascii: "0"), digits.allSatisfy(Text.isDigit) else { return nil }
        return UInt64(Substring(digits))
    }

    private static func isNumeric(_ identifier: String) -> Bool { identifier.utf8.allSatisfy(Text.isDigit) }
}

extension SemanticVersion: Comparable {
    /// Precedence (§11). Versions that differ only in ``build`` are neither before nor after each other.
    public static func < (a: Self, b: Self) -> Bool {
        let (left, right) = ([a.major, a.minor, a.patch], [b.major, b.minor, b.patch])
        guard left == right else { return left.lexicographicallyPrecedes(right) }
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
