// SPDX-License-Identifier: Apache-2.0

extension URLRecord {
    /// The scheme in lower case, without the colon.
    public var scheme: Substring { self[.scheme] }

    /// Whether the scheme is http, https, ws, wss, ftp or file.
    public var isSpecial: Bool { layout.specialScheme != nil }

    /// The user name, percent-encoded; empty where there is none.
    public var username: Substring { self[.username] }

    /// The password, percent-encoded; empty where there is none.
    public var password: Substring { self[.password] }

    /// Whether there is a user name or a password.
    public var hasCredentials: Bool { layout.hostStart > layout.usernameEnd }

    /// The host as serialised, an IPv6 address in its brackets.
    ///
    /// It is nil where there is no authority, as in `data:,x`, and empty in `file:///x`.
    public var host: Substring? { layout.hasAuthority ? self[.host] : nil }

    /// The port, or nil where there is none or it is the default of the scheme.
    public var port: Int? { layout.port.map(Int.init) }

    /// The port to connect to: the one that is written, else the default of a special scheme.
    public var effectivePort: Int? { (layout.port ?? layout.specialScheme?.defaultPort).map(Int.init) }

    /// The port of the scheme where none is written; `nil` where the scheme is not special, or is `file`.
    package var defaultPort: Int? { layout.specialScheme?.defaultPort.map(Int.init) }

    /// The path, percent-encoded.
    ///
    /// It starts with a slash, or is empty, or `hasOpaquePath` is true.
    public var path: Substring { self[.path] }

    /// Whether the path is opaque, as in `data:,x` and `mailto:a@b`: no segments, and nothing but a fragment can be resolved against it.
    public var hasOpaquePath: Bool { layout.hasOpaquePath }

    /// The query, percent-encoded, without the question mark; nil where there is none, empty in `http://h/?`.
    public var query: Substring? { layout.queryEnd > layout.pathEnd ? self[.query] : nil }

    /// The fragment, percent-encoded, without the number sign; nil where there is none, empty in `http://h/#`.
    public var fragment: Substring? { layout.queryEnd < description.utf8.count ? self[.fragment] : nil }

    /// Scheme and authority: everything before the path.
    package var beforePath: Substring {
        let utf8 = description.utf8
        return description[..<utf8.index(utf8.startIndex, offsetBy: layout.pathStart)]
    }

    /// Whether these bytes are everything before the path.
    package func isLed(by prefix: [UInt8]) -> Bool {
        guard prefix.count == layout.pathStart else { return false }
        let utf8 = description.utf8.span
        // From its end on: there the hosts differ.
        for index in prefix.indices.reversed() where utf8[index] != prefix[index] { return false }
        return true
    }

    /// Everything between the scheme's colon and the fragment: what a `data:` URL is decoded from.
    public var schemeSpecificPart: Substring { self[.schemeSpecificPart] }
}

extension URLRecord {
    /// A part of the serialised URL; one that is absent is empty.
    public enum Component: Sendable, Hashable, CaseIterable {
        case scheme, username, password, host, path, query, fragment
        /// Everything between the scheme's colon and the fragment.
        case schemeSpecificPart
        /// Everything before the fragment.
        case beforeFragment
    }

    /// The slice of the text that holds a component, or an empty one.
    public subscript(component: Component) -> Substring {
        let utf8 = description.utf8
        let range = range(of: component)
        let start = utf8.index(utf8.startIndex, offsetBy: range.lowerBound)
        return description[start..<utf8.index(start, offsetBy: range.count)]
    }

    /// Lends the bytes of a component for the length of a call, without a copy.
    public func withUTF8<Result: ~Copyable, Failure: Error>(
        of component: Component, _ body: (Span<UInt8>) throws(Failure) -> Result
    ) throws(Failure) -> Result {
        let utf8 = description.utf8
        return try body(utf8.span.extracting(range(of: component)))
    }

    /// Where a component lies, in bytes from the start of `description`.
    func range(of component: Component) -> Range<Int> {
        let end = description.utf8.count
        let layout = layout
        return switch component {
        case .scheme: 0..<layout.schemeEnd
        case .username: min(layout.schemeEnd + 3, layout.usernameEnd)..<layout.usernameEnd
        // The password stands between a colon and an "@"; with a user name alone there is just the "@".
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
