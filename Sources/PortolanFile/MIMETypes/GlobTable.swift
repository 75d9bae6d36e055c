// SPDX-License-Identifier: Apache-2.0

internal import PortolanCore

/// Patterns of file names, each with the type of the files it matches.
///
/// Nearly all patterns are a star and an ending, or a whole name; those are looked up. The few others are tried one after another.
struct GlobTable {
    private struct Entry {
        let type: MIMEType
        let weight: Int
        /// Of the pattern: of two that match, the longer one says more.
        let length: Int

        func isBetter(than other: Entry?) -> Bool {
            guard let other else { return true }
            return (weight, length) > (other.weight, other.length)
        }
    }

    /// The patterns for which case matters, or those for which it does not, which are kept in lower case.
    private struct Patterns {
        var names: [ArraySlice<UInt8>: Entry] = [:]
        var endings: [ArraySlice<UInt8>: Entry] = [:]
        /// What endings begin with: nearly always a dot.
        var firstBytesOfEndings: Set<UInt8> = []
        var others: [(glob: Glob, entry: Entry)] = []
    }

    /// More patterns than this that can't be looked up are left out, since each costs time at every question.
    private static let limitOfOthers = 1000
    private static let longestPattern = 255

    private var exact = Patterns()
    private var folded = Patterns()
    /// Types of which sources that are added later say nothing more.
    var silencedTypes: Set<MIMEType> = []

    /// Adds a pattern, unless one that is as good is there already.
    ///
    /// - Parameters:
    ///   - weight: of two patterns that match, the one of more weight wins, whatever their lengths.
    ///   - matchesCase: whether `A` and `a` differ.
    mutating func add(_ pattern: ArraySlice<UInt8>, type: MIMEType, weight: Int, matchesCase: Bool = false) {
        guard !pattern.isEmpty, pattern.count <= Self.longestPattern else { return }
        let entry = Entry(type: type, weight: weight, length: pattern.count)
        if matchesCase {
            Self.add(pattern, entry, to: &exact)
        } else {
            Self.add(Self.lowercased(pattern), entry, to: &folded)
        }
    }

    private static func add(_ pattern: ArraySlice<UInt8>, _ entry: Entry, to patterns: inout Patterns) {
        if !pattern.contains(where: Glob.isSpecial) {
            if entry.isBetter(than: patterns.names[pattern]) { patterns.names[pattern] = entry }
        } else if let ending = Glob.ending(of: pattern) {
            if entry.isBetter(than: patterns.endings[ending]) { patterns.endings[ending] = entry }
            ending.first.map { _ = patterns.firstBytesOfEndings.insert($0) }
        } else if patterns.others.count < limitOfOthers, let glob = Glob(pattern) {
            patterns.others.append((glob, entry))
        }
    }

    /// The type by the best pattern that matches: of the most weight, then the longest, then one for which case matters, then the first added.
    func type(ofFileNamed name: ArraySlice<UInt8>) -> MIMEType? {
        // A table with a pattern as long as its name has nothing to gain from names longer than any file system takes.
        guard !name.isEmpty, name.count <= Self.longestPattern else { return nil }
        var best: Entry?
        Self.match(name, in: exact, &best)
        Self.match(Self.lowercased(name), in: folded, &best)
        return best?.type
    }

    private static func match(_ name: ArraySlice<UInt8>, in patterns: Patterns, _ best: inout Entry?) {
        if let entry = patterns.names[name], entry.isBetter(than: best) { best = entry }
        for index in name.indices where patterns.firstBytesOfEndings.contains(name[index]) {
            if let entry = patterns.endings[name[index...]], entry.isBetter(than: best) { best = entry }
        }
        for (glob, entry) in patterns.others where entry.isBetter(than: best) && glob.matches(name) { best = entry }
    }

    /// ASCII only: the tables name no other endings.
    private static func lowercased(_ bytes: ArraySlice<UInt8>) -> ArraySlice<UInt8> {
        bytes.map { (UInt8(ascii: "A")...UInt8(ascii: "Z")).contains($0) ? $0 | 0x20 : $0 }[...]
    }
}
