// SPDX-License-Identifier: Apache-2.0

extension URLParser {
    /// Parses the scheme, if there is one, and decides how to parse the rest.
    ///
    /// Scheme start, scheme, no scheme, and path or authority states
    mutating func parse(_ source: Span<UInt8>, relativeTo base: URLRecord?) throws(Failure) {
        guard parseScheme(source) else { return try parseWithoutScheme(source, base: base) }
        switch layout.specialScheme {
        case .file:
            try parseFile(source, base: base?.layout.specialScheme == .file ? base : nil)
        case .some(let scheme):
            if let base, base.layout.specialScheme == scheme, !startsWithTwoSlashes(source) {
                try parseRelative(source, base: base)
            } else {
                try parseSpecialAuthority(source)
            }
        case nil:
            try parseAfterOrdinaryScheme(source)
        }
    }

    /// Writes the scheme in lower case with its colon, or nothing if the text does not start with a scheme.
    private mutating func parseScheme(_ source: Span<UInt8>) -> Bool {
        guard let first = next(in: source), first.isASCIILetter else { return false }
        var end = 0
        var name: UInt64 = 0
        var hasUppercase = false
        while end < source.count, source[end].isSchemeByte {
            // Longer names lose their first bytes. The remaining eight bytes are longer than each special scheme.
            name = name << 8 | UInt64(source[end].lowercasedASCII)
            hasUppercase = hasUppercase || source[end].isASCIIUppercase
            end += 1
        }
        guard end < source.count, source[end] == UInt8(ascii: ":") else { return false }
        if hasUppercase {
            for offset in 0...end { output.append(source[offset].lowercasedASCII, source: source) }
        } else {
            output.append(0..<end + 1, of: source)
        }
        layout.schemeEnd = end
        layout.specialScheme = SpecialScheme(rawValue: name)
        position = end + 1
        return true
    }

    private mutating func parseAfterOrdinaryScheme(_ source: Span<UInt8>) throws(Failure) {
        guard next(in: source) == UInt8(ascii: "/") else { return try parseOpaquePath(source) }
        position += 1
        if next(in: source) == UInt8(ascii: "/") {
            position += 1
            try parseAuthority(source)
        } else {
            layout.setNoAuthority()
            layout.pathStart = output.count
            try parsePath(source)
        }
    }

    private mutating func parseWithoutScheme(_ source: Span<UInt8>, base: URLRecord?) throws(Failure) {
        guard let base else { throw Failure(.missingScheme, at: 0) }
        layout.specialScheme = base.layout.specialScheme
        if base.hasOpaquePath {
            guard next(in: source) == UInt8(ascii: "#") else { throw Failure(.relativeToOpaquePath, at: 0) }
            copy(base, upTo: .query)
            try parseQueryAndFragment(source)
        } else if base.layout.specialScheme == .file {
            try parseFile(source, base: base)
        } else {
            try parseRelative(source, base: base)
        }
    }

    private func startsWithTwoSlashes(_ source: Span<UInt8>) -> Bool {
        position + 1 < source.count && source[position] == UInt8(ascii: "/") && source[position + 1] == UInt8(ascii: "/")
    }
}
