// SPDX-License-Identifier: Apache-2.0

extension URLParser {
    /// Parses everything after an authority.
    ///
    /// Path start state
    mutating func parsePathStart(_ source: Span<UInt8>) throws(Failure) {
        layout.pathStart = output.count
        if isSlash(at: position, in: source) {
            position += 1
            try parsePath(source)
        } else if isSpecial {
            try parsePath(source)  // which writes the missing slash
        } else {
            finishPath(source)
            try parseQueryAndFragment(source)
        }
    }

    /// Parses the segments of a path, and the rest of the URL. The slash before the first segment has already been
    /// skipped.
    ///
    /// Each segment is written with a slash before it, and removed again if it is "." or "..".
    ///
    /// Path state
    mutating func parsePath(_ source: Span<UInt8>) throws(Failure) {
        let rule: ComponentRule = isSpecial ? .specialPath : .path
        var hasSlash = true
        while hasSlash {
            let start = position
            let outputStart = output.count
            output.append(UInt8(ascii: "/"), source: source)
            try appendEncoded(position..<source.count, of: source, rule: rule)
            hasSlash = isSlash(at: position, in: source)
            switch dotCount(in: start..<position, of: source) {
            case 0:
                if outputStart == layout.pathStart { normaliseDriveLetter(start..<position, of: source) }
            case let dotCount:
                output.truncate(to: outputStart)
                if dotCount == 2 { removeLastSegment(source) }
                if !hasSlash { output.append(UInt8(ascii: "/"), source: source) }
            }
            if hasSlash { position += 1 }
        }
        finishPath(source)
        try parseQueryAndFragment(source)
    }

    /// Counts the dots of a "." or ".." segment, in which %2e also counts as a dot; 0 for any other segment.
    private func dotCount(in range: Range<Int>, of source: Span<UInt8>) -> Int {
        guard range.count <= 6 else { return 0 }
        var count = 0
        var offset = range.lowerBound
        while offset < range.upperBound {
            if source[offset] == UInt8(ascii: ".") {
                offset += 1
            } else if offset + 3 <= range.upperBound, source[offset] == UInt8(ascii: "%"), source[offset + 1] == UInt8(ascii: "2"),
                source[offset + 2] | 0x20 == UInt8(ascii: "e")
            {
                offset += 3
            } else {
                return 0
            }
            count += 1
        }
        return count <= 2 ? count : 0
    }

    /// Removes the last segment of the written path, unless it is the drive letter of a file.
    mutating func removeLastSegment(_ source: Span<UInt8>) {
        if layout.specialScheme == .file, output.count == layout.pathStart + 3,
            output.byte(at: layout.pathStart + 1, source: source).isASCIILetter,
            output.byte(at: layout.pathStart + 2, source: source) == UInt8(ascii: ":")
        {
            return
        }
        var end = output.count
        while end > layout.pathStart {
            end -= 1
            if output.byte(at: end, source: source) == UInt8(ascii: "/") { break }
        }
        output.truncate(to: end)
    }

    /// Writes the drive letter `C|` as `C:`.
    private mutating func normaliseDriveLetter(_ segment: Range<Int>, of source: Span<UInt8>) {
        guard layout.specialScheme == .file, isDriveLetter(segment, of: source) else { return }
        output.truncate(to: output.count - 1)
        output.append(UInt8(ascii: ":"), source: source)
    }

    /// Records the end of the path. It is also the end of the URL unless a query or fragment follows.
    ///
    /// Two slashes at the start of a path without an authority would be read as an authority, so "/." is inserted
    /// before them.
    mutating func finishPath(_ source: Span<UInt8>) {
        if !layout.hasAuthority, output.count >= layout.pathStart + 2,
            output.byte(at: layout.pathStart, source: source) == UInt8(ascii: "/"),
            output.byte(at: layout.pathStart + 1, source: source) == UInt8(ascii: "/")
        {
            output.insert(Array("/.".utf8), at: layout.pathStart, source: source)
            layout.pathStart += 2
        }
        layout.pathEnd = output.count
        layout.queryEnd = output.count
    }
}

extension URLParser {
    /// Parses a path without segments, such as that of `data:` and `mailto:`.
    ///
    /// Opaque path state
    mutating func parseOpaquePath(_ source: Span<UInt8>) throws(Failure) {
        layout.setNoAuthority()
        layout.hasOpaquePath = true
        layout.pathStart = output.count
        try appendEncoded(position..<source.count, of: source, rule: .opaquePath)
        // A last space would be lost if the query and fragment were removed and the text was parsed again.
        if position < source.count, source[position - 1] == UInt8(ascii: " ") {
            output.truncate(to: output.count - 1)
            output.append(percentEncoding: UInt8(ascii: " "), source: source)
        }
        finishPath(source)
        try parseQueryAndFragment(source)
    }

    /// Parses a query and a fragment, if they are present.
    ///
    /// Query and fragment states
    mutating func parseQueryAndFragment(_ source: Span<UInt8>) throws(Failure) {
        if next(in: source) == UInt8(ascii: "?") {
            position += 1
            output.append(UInt8(ascii: "?"), source: source)
            try appendEncoded(position..<source.count, of: source, rule: isSpecial ? .specialQuery : .query)
            layout.queryEnd = output.count
        }
        if next(in: source) == UInt8(ascii: "#") {
            position += 1
            output.append(UInt8(ascii: "#"), source: source)
            try appendEncoded(position..<source.count, of: source, rule: .fragment)
        }
    }

    /// Writes bytes up to an end of the component, percent-encoded as the rule requires, and moves `position` to that
    /// end.
    mutating func appendEncoded(_ range: Range<Int>, of source: Span<UInt8>, rule: ComponentRule) throws(Failure) {
        position = range.lowerBound
        while position < range.upperBound {
            let stop = rule.firstStop(in: source, range: position..<range.upperBound)
            output.append(position..<stop, of: source)
            position = stop
            guard stop < range.upperBound, !rule.ends.contains(source[stop]) else { return }
            if source[stop].isTabOrNewline { throw Failure(.tabOrNewline, at: stop) }
            output.append(percentEncoding: source[stop], source: source)
            position += 1
        }
    }
}

extension RewriteBuffer {
    /// Appends "%" and two hexadecimal digits.
    mutating func append(percentEncoding byte: UInt8, source: Span<UInt8>) {
        append(UInt8(ascii: "%"), source: source)
        append(.uppercaseHexDigit(byte >> 4), source: source)
        append(.uppercaseHexDigit(byte & 15), source: source)
    }

    /// Appends a number in decimal digits.
    mutating func append(decimal number: UInt32, source: Span<UInt8>) {
        var divisor: UInt32 = 1
        while number / divisor >= 10 { divisor *= 10 }
        while divisor > 0 {
            append(UInt8(ascii: "0") + UInt8(number / divisor % 10), source: source)
            divisor /= 10
        }
    }
}
