// SPDX-License-Identifier: Apache-2.0

internal import PortolanCore

/// Patterns of file names, each with the type of the files that it matches.
///
/// Nearly all patterns are a star and an ending, or a whole name. They are found in dictionaries. The few other
/// patterns are tried one after another.
struct GlobTable {
    private struct Entry {
        let type: MIMEType
        let weight: Int
        /// The length of the pattern. Of two patterns that match, the longer one is more specific.
        let length: Int

        func isBetter(than other: Entry?) -> Bool {
            guard let other else { return true }
            return (weight, length) > (other.weight, other.length)
        }
    }

    /// The patterns for which case matters, or the patterns for which it does not matter. The second kind is stored in
    /// lower case.
    private struct Patterns {
        var names: [ArraySlice<UInt8>: Entry] = [:]
        var endings: [ArraySlice<UInt8>: Entry] = [:]
        /// The first bytes of the endings: nearly always a dot.
        var firstBytesOfEndings: Set<UInt8> = []
        var otherPatterns: [(glob: Glob, entry: Entry)] = []
    }

    /// The maximum number of other patterns, because each of them costs time in every search.
    private static let maximumOtherPatternCount = 1000
    /// In bytes.
    private static let longestPattern = 255

    private var caseSensitive = Patterns()
    private var caseInsensitive = Patterns()
    /// The types whose patterns in less important folders are ignored.
    var ignoredTypes: Set<MIMEType> = []

    /// Adds a pattern, unless the table has an equally good or better entry for it.
    ///
    /// - Parameters:
    ///   - weight: of two patterns that match, the pattern with more weight is used, whatever their lengths are.
    ///   - matchesCase: whether `A` and `a` differ.
    mutating func add(_ pattern: ArraySlice<UInt8>, type: MIMEType, weight: Int, matchesCase: Bool = false) {
        guard !pattern.isEmpty, pattern.count <= Self.longestPattern else { return }
        let entry = Entry(type: type, weight: weight, length: pattern.count)
        if matchesCase {
            Self.add(pattern, entry, to: &caseSensitive)
        } else {
            Self.add(Self.lowercased(pattern), entry, to: &caseInsensitive)
        }
    }

    private static func add(_ pattern: ArraySlice<UInt8>, _ entry: Entry, to patterns: inout Patterns) {
        if !pattern.contains(where: Glob.isSpecial) {
            if entry.isBetter(than: patterns.names[pattern]) { patterns.names[pattern] = entry }
        } else if let ending = Glob.ending(of: pattern) {
            if entry.isBetter(than: patterns.endings[ending]) { patterns.endings[ending] = entry }
            ending.first.map { _ = patterns.firstBytesOfEndings.insert($0) }
        } else if patterns.otherPatterns.count < maximumOtherPatternCount, let glob = Glob(pattern) {
            patterns.otherPatterns.append((glob, entry))
        }
    }

    /// The type of the best pattern that matches: the pattern with the most weight; among these the longest, then a
    /// pattern for which case matters, then the pattern that was added first.
    func type(ofFileNamed name: ArraySlice<UInt8>) -> MIMEType? {
        // No file system allows longer names, so they need no search.
        guard !name.isEmpty, name.count <= Self.longestPattern else { return nil }
        var best: Entry?
        Self.match(name, in: caseSensitive, &best)
        Self.match(Self.lowercased(name), in: caseInsensitive, &best)
        return best?.type
    }

    private static func match(_ name: ArraySlice<UInt8>, in patterns: Patterns, _ best: inout Entry?) {
        if let entry = patterns.names[name], entry.isBetter(than: best) { best = entry }
        for index in name.indices where patterns.firstBytesOfEndings.contains(name[index]) {
            if let entry = patterns.endings[name[index...]], entry.isBetter(than: best) { best = entry }
        }
        for (glob, entry) in patterns.otherPatterns where entry.isBetter(than: best) && glob.matches(name) { best = entry }
    }

    /// ASCII only, because the tables have no other endings.
    private static func lowercased(_ bytes: ArraySlice<UInt8>) -> ArraySlice<UInt8> {
        bytes.map { (UInt8(ascii: "A")...UInt8(ascii: "Z")).contains($0) ? $0 | 0x20 : $0 }[...]
    }
}
