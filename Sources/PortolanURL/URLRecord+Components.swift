// SPDX-License-Identifier: Apache-2.0

extension URLRecord {
    /// The scheme in lower case, without the colon.
    public var scheme: Substring { self[.scheme] }

    /// Whether the scheme is http, https, ws, wss, ftp or file.
    package var isSpecial: Bool { layout.specialScheme != nil }

    /// The user name, percent-encoded; empty if there is none.
    public var username: Substring { self[.username] }

    /// The password, percent-encoded; empty if there is none.
    public var password: Substring { self[.password] }

    /// Whether there is a user name or a password.
    public var hasCredentials: Bool { layout.hostStart > layout.usernameEnd }

    /// The host as serialised, with brackets around an IPv6 address.
    ///
    /// It is nil if there is no authority, as in `data:,x`, and empty in `file:///x`.
    public var host: Substring? { layout.hasAuthority ? self[.host] : nil }

    /// The host, and an IPv6 address without its brackets; `nil` if there is none.
    package var hostWithoutBrackets: String? {
        host.map { String($0.hasPrefix("[") && $0.hasSuffix("]") ? $0.dropFirst().dropLast() : $0[...]) }
    }

    /// The port; nil if there is none or it is the default of the scheme.
    public var port: Int? { layout.port.map(Int.init) }

    /// The port to connect to: the explicit one, otherwise the default of a special scheme.
    public var effectivePort: Int? { (layout.port ?? layout.specialScheme?.defaultPort).map(Int.init) }

    /// The default port of the scheme; `nil` if the scheme is not special, or is `file`.
    package var defaultPort: Int? { layout.specialScheme?.defaultPort.map(Int.init) }

    /// The path, percent-encoded.
    ///
    /// It starts with a slash, or is empty, or `hasOpaquePath` is true.
    public var path: Substring { self[.path] }

    /// Whether the path is opaque, as in `data:,x` and `mailto:a@b`: it has no segments, and only a fragment can be
    /// resolved against it.
    public var hasOpaquePath: Bool { layout.hasOpaquePath }

    /// The query, percent-encoded, without the question mark; nil if there is none, empty in `http://h/?`.
    public var query: Substring? { layout.queryEnd > layout.pathEnd ? self[.query] : nil }

    /// The fragment, percent-encoded, without the number sign; nil if there is none, empty in `http://h/#`.
    public var fragment: Substring? { layout.queryEnd < string.utf8.count ? self[.fragment] : nil }

    /// Scheme and authority: everything before the path.
    package var schemeAndAuthority: Substring {
        let utf8 = string.utf8
        return string[..<utf8.index(utf8.startIndex, offsetBy: layout.pathStart)]
    }

    /// Whether ``schemeAndAuthority`` is `prefix`.
    package func hasSchemeAndAuthority(_ prefix: [UInt8]) -> Bool {
        guard prefix.count == layout.pathStart else { return false }
        let utf8 = string.utf8.span
        // Compared from the end, where the hosts differ.
        for index in prefix.indices.reversed() where utf8[index] != prefix[index] { return false }
        return true
    }

    /// Everything between the scheme's colon and the fragment: the part that a `data:` URL is decoded from.
    public var schemeSpecificPart: Substring { self[.schemeSpecificPart] }
}

extension URLRecord {
    /// A part of the serialised URL; empty if it is absent.
    package enum Component: Sendable, Hashable, CaseIterable {
        case scheme, username, password, host, path, query, fragment
        /// Everything between the scheme's colon and the fragment.
        case schemeSpecificPart
        /// Everything before the fragment.
        case beforeFragment
    }

    /// The slice of the text for a component, or an empty one.
    package subscript(component: Component) -> Substring {
        let utf8 = string.utf8
        let range = range(of: component)
        let start = utf8.index(utf8.startIndex, offsetBy: range.lowerBound)
        return string[start..<utf8.index(start, offsetBy: range.count)]
    }

    /// Passes the bytes of a component to `body` without a copy, borrowed for the length of the call.
    package func withUTF8<Result: ~Copyable, Failure: Error>(
        of component: Component, _ body: (Span<UInt8>) throws(Failure) -> Result
    ) throws(Failure) -> Result {
        let utf8 = string.utf8
        return try body(utf8.span.extracting(range(of: component)))
    }

    /// The position of a component, in bytes from the start of `string`.
    func range(of component: Component) -> Range<Int> {
        let end = string.utf8.count
        let layout = layout
        return switch component {
        case .scheme: 0..<layout.schemeEnd
        case .username: min(layout.schemeEnd + 3, layout.usernameEnd)..<layout.usernameEnd
        // The password is between a colon and an "@". After a user name alone there is just the "@".
        case .password:
            layout.hostStart > layout.usernameEnd + 1 ? layout.usernameEnd + 1..<layout.hostStart - 1 : layout.hostStart..<layout.hostStart
        case .host: layout.hostStart..<layout.hostEnd
        case .path: layout.pathStart..<layout.pathEnd
        case .query: min(layout.pathEnd + 1, layout.queryEnd)..<layout.queryEnd
        case .fragment: min(layout.queryEnd + 1, end)..<end
        case .schemeSpecificPart: layout.schemeEnd + 1..<layout.queryEnd
        case .beforeFragment: 0..<layout.queryEnd
        }
    }
}
