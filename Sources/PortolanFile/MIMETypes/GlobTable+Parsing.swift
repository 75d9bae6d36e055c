// SPDX-License-Identifier: Apache-2.0

internal import PortolanCore

extension GlobTable {
    /// In bytes.
    private static let longestLine = 4096
    /// The weight of patterns from mime.types, which states no weights. It is the default of the specification.
    private static let defaultWeight = 50

    /// Adds the patterns of a `globs2` file of shared-mime-info. The file's folder is less important than the folders
    /// whose files were added before.
    ///
    /// A line is `weight:type:pattern`, with `:cs` if case matters. The pattern `__NOGLOBS__` means that the patterns
    /// of less important folders are ignored for the type. Lines of another form are ignored.
    mutating func add(globs2 text: [UInt8]) {
        var newlyIgnored: [MIMEType] = []
        var types = TypeCache()
        for line in Self.lines(of: text) where line.first != UInt8(ascii: "#") {
            let parts = line.split(separator: UInt8(ascii: ":"), maxSplits: 3, omittingEmptySubsequences: false)
            guard parts.count >= 3, let weight = Int(String(decoding: parts[0], as: UTF8.self)), (0...100).contains(weight),
                let type = types.type(parts[1])
            else { continue }
            if parts[2].elementsEqual("__NOGLOBS__".utf8) {
                newlyIgnored.append(type)
            } else if !ignoredTypes.contains(type) {
                let flags = parts.count > 3 ? parts[3].prefix { $0 != UInt8(ascii: ":") } : []
                let matchesCase = flags.split(separator: UInt8(ascii: ",")).contains { $0.elementsEqual("cs".utf8) }
                add(parts[2], type: type, weight: weight, matchesCase: matchesCase)
            }
        }
        ignoredTypes.formUnion(newlyIgnored)
    }

    /// Adds the entries of a table in the form of `mime.types(5)`. Each line has a type and its extensions, without
    /// their dots.
    mutating func add(mimeTypes text: [UInt8]) {
        var types = TypeCache()
        for line in Self.lines(of: text) {
            let words = line.prefix { $0 != UInt8(ascii: "#") }.split { $0 == UInt8(ascii: " ") || $0 == UInt8(ascii: "\t") }
            guard words.count > 1, let type = types.type(words[0]) else { continue }
            for word in words.dropFirst() where !word.contains(where: Glob.isSpecial) {
                add(Array("*.".utf8) + word, type: type, weight: Self.defaultWeight)
            }
        }
    }

    private static func lines(of text: [UInt8]) -> some Sequence<ArraySlice<UInt8>> {
        text.split { $0 == UInt8(ascii: "\n") || $0 == UInt8(ascii: "\r") }.lazy.filter { $0.count <= longestLine }
    }
}

/// Parses each type once, although most types appear in several lines.
private struct TypeCache {
    private var types: [ArraySlice<UInt8>: MIMEType?] = [:]

    /// - Returns: `nil` if the text is not a type.
    mutating func type(_ text: ArraySlice<UInt8>) -> MIMEType? {
        if let cachedType = types[text] { return cachedType }
        let type = MIMEType(parsing: text.span)
        types[text] = type
        return type
    }
}
