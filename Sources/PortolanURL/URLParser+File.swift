// SPDX-License-Identifier: Apache-2.0

/// The special rules of `file:`: hosts may be empty, and paths may have drive letters of Windows.
extension URLParser {
    /// Parses the text after `file:`, or resolves a text without a scheme against a `file:` base.
    ///
    /// File and file slash states
    mutating func parseFile(_ source: Span<UInt8>, base: URLRecord?) throws(Failure) {
        if isSlash(at: position, in: source) {
            position += 1
            if isSlash(at: position, in: source) {
                position += 1
                if let base { copy(base, upTo: .scheme) }
                return try parseFileHost(source)
            }
            guard let base else { return try parseLocalPath(source) }
            copy(base, upTo: .authority)
            if !startsWithDriveLetter(source) { appendDriveLetter(of: base) }
            try parsePath(source)
        } else if let base {
            try parseRelativePath(source, base: base)
        } else {
            try parseLocalPath(source)
        }
    }

    /// File host state
    private mutating func parseFileHost(_ source: Span<UInt8>) throws(Failure) {
        let start = position
        var end = start
        while end < source.count, !isSlash(at: end, in: source), source[end] != UInt8(ascii: "?"), source[end] != UInt8(ascii: "#") {
            end += 1
        }
        // A drive letter in the place of the host is the first segment of the path.
        if isDriveLetter(start..<end, of: source) || start == end {
            if isSlash(at: start, in: source) { position = start + 1 }
            return try parseLocalPath(source)
        }
        beginAuthority(source)
        try parseHost(start..<end, of: source)
        if isLocalhost(source) { output.truncate(to: layout.hostStart) }
        layout.hostEnd = output.count
        position = end
        try parsePathStart(source)
    }

    /// Parses the path of a URL whose host is empty. If the path starts with a slash, that slash was already skipped.
    private mutating func parseLocalPath(_ source: Span<UInt8>) throws(Failure) {
        beginAuthority(source)
        layout.hostEnd = layout.hostStart
        layout.pathStart = layout.hostStart
        try parsePath(source)
    }

    private func isLocalhost(_ source: Span<UInt8>) -> Bool {
        let name: StaticString = "localhost"
        guard output.count - layout.hostStart == name.utf8CodeUnitCount else { return false }
        var offset = layout.hostStart
        for byte in name.description.utf8 {
            if output.byte(at: offset, source: source) != byte { return false }
            offset += 1
        }
        return true
    }

    private mutating func appendDriveLetter(of base: URLRecord) {
        let utf8 = base.string.utf8
        let text = utf8.span
        let path = base.range(of: .path)
        guard path.count >= 3, isDriveLetter(path.lowerBound + 1..<path.lowerBound + 3, of: text),
            text[path.lowerBound + 2] == UInt8(ascii: ":"), path.count == 3 || text[path.lowerBound + 3] == UInt8(ascii: "/")
        else { return }
        output.append(contentsOf: text.extracting(path.lowerBound..<path.lowerBound + 3), source: text)
    }

    /// Whether a range is a letter and a colon or vertical bar.
    func isDriveLetter(_ range: Range<Int>, of source: Span<UInt8>) -> Bool {
        guard range.count == 2, source[range.lowerBound].isASCIILetter else { return false }
        let separator = source[range.lowerBound + 1]
        return separator == UInt8(ascii: ":") || separator == UInt8(ascii: "|")
    }

    /// Whether a drive letter comes next, followed by nothing or by the end of a segment.
    func startsWithDriveLetter(_ source: Span<UInt8>) -> Bool {
        guard position + 2 <= source.count, isDriveLetter(position..<position + 2, of: source) else { return false }
        return position + 2 == source.count || ComponentRule.specialPath.ends.contains(source[position + 2])
    }
}
