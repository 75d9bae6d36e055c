// SPDX-License-Identifier: Apache-2.0

extension URLParser {
    /// The last part of a base URL that a reference inherits.
    enum BasePart { case scheme, authority, path, query }

    /// Resolves the text after the scheme, or a text without one, against a base that is neither opaque nor a `file:`
    /// URL.
    ///
    /// Relative and relative slash states
    mutating func parseRelative(_ source: Span<UInt8>, base: URLRecord) throws(Failure) {
        guard isSlash(at: position, in: source) else {
            return try parseRelativePath(source, base: base)
        }
        position += 1
        if !isSlash(at: position, in: source) {
            copy(base, upTo: .authority)
            try parsePath(source)
        } else {
            copy(base, upTo: .scheme)
            if isSpecial {
                try parseSpecialAuthority(source)
            } else {
                position += 1
                try parseAuthority(source)
            }
        }
    }

    /// Resolves a reference that does not start with a slash: an empty text, a query, a fragment or a path.
    mutating func parseRelativePath(_ source: Span<UInt8>, base: URLRecord) throws(Failure) {
        switch next(in: source) {
        case nil:
            copy(base, upTo: .query)
        case UInt8(ascii: "#"):
            copy(base, upTo: .query)
            try parseQueryAndFragment(source)
        case UInt8(ascii: "?"):
            copy(base, upTo: .path)
            finishPath(source)
            try parseQueryAndFragment(source)
        default:
            copy(base, upTo: .path)
            // A drive letter restarts the path of a file.
            if layout.specialScheme == .file, startsWithDriveLetter(source) {
                output.truncate(to: layout.pathStart)
            } else {
                removeLastSegment(source)
            }
            try parsePath(source)
        }
    }

    /// Restarts the output with the base, up to `part`.
    ///
    /// A "/." before the base's path is left out, because the new path may not need it.
    mutating func copy(_ base: URLRecord, upTo part: BasePart) {
        let utf8 = base.string.utf8
        let text = utf8.span
        var end = base.layout.schemeEnd + 1
        if part != .scheme, base.layout.hasAuthority { end = base.layout.pathStart }
        output = RewriteBuffer(copying: text.extracting(0..<end))
        layout = base.layout
        layout.pathStart = end
        if part == .scheme { layout.port = nil }
        guard part == .path || part == .query else { return }

        output.append(contentsOf: text.extracting(base.range(of: .path)), source: text)
        guard part == .query else { return }

        finishPath(text)
        output.append(contentsOf: text.extracting(base.layout.pathEnd..<base.layout.queryEnd), source: text)
        layout.queryEnd = output.count
    }
}
