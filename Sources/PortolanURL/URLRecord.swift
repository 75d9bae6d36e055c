// SPDX-License-Identifier: Apache-2.0

/// A parsed URL: its serialised text and the positions of its components.
///
/// The standard calls this a URL record. A text that is already canonical is kept, without a copy. Any other text is
/// rewritten: ` HTTP://EXAMPLE.com:80/a/../b ` becomes `http://example.com/b`. Parsing the serialised text gives the
/// same record again, so two records are equal exactly if their texts are.
///
/// Components are slices of the text, percent-encoded as in the text.
///
/// ```swift
/// let base = try URLRecord(parsing: "https://example.org/docs/index.html")
/// let next = try URLRecord(parsing: "../logo.png?size=2", relativeTo: base)
/// print(next.string)   // https://example.org/logo.png?size=2
/// print(next.path)     // /logo.png
/// ```
///
/// In special schemes a host beyond ASCII is converted to its `xn--` form: `http://Bücher.example/` becomes
/// `http://xn--bcher-kva.example/`. An ASCII host is only converted to lower case: its `xn--` labels are not checked.
///
/// WHATWG URL §4
public struct URLRecord: Sendable {
    /// The serialised URL, including its user information and its fragment. ``description`` hides passwords.
    public let string: String
    let layout: Layout

    /// Parses a URL, or resolves a reference against a base URL.
    ///
    /// Spaces and control characters around the text, and tabs and newlines within it, are removed as the standard
    /// requires.
    ///
    /// - Throws: the violated rule, its position, and how to fix it.
    /// - Complexity: linear in the length of the text and of the base.
    public init(parsing text: String, relativeTo base: URLRecord? = nil) throws(URLSyntaxError) {
        self = try URLParser.parse(text, relativeTo: base)
    }

    /// Wraps a text that was serialised by the parser.
    init(serialised text: String, layout: Layout) {
        self.string = text
        self.layout = layout
    }
}

extension URLRecord {
    /// The positions of the components, as offsets in bytes.
    ///
    ///     scheme ":" "//" username ":" password "@" host ":" port "/." path "?" query "#" fragment
    ///           ^schemeEnd       ^usernameEnd       ^hostStart    ^pathStart ^pathEnd  ^queryEnd
    ///                                                   ^hostEnd
    ///
    /// Without an authority, `usernameEnd`, `hostStart` and `hostEnd` are all one more than `schemeEnd`. The "/." is
    /// present only if a path without a host starts with two slashes.
    struct Layout: Sendable {
        var schemeEnd = 0
        var usernameEnd = 0
        var hostStart = 0
        var hostEnd = 0
        var pathStart = 0
        var pathEnd = 0
        var queryEnd = 0
        /// The port, if it is not the scheme's default.
        var port: UInt16?
        var specialScheme: SpecialScheme?
        var hasOpaquePath = false

        var hasAuthority: Bool { hostStart > schemeEnd + 1 }

        /// Marks that no authority follows the scheme.
        mutating func setNoAuthority() {
            usernameEnd = schemeEnd + 1
            hostStart = usernameEnd
            hostEnd = usernameEnd
        }
    }
}

extension URLRecord: Hashable {
    public static func == (a: URLRecord, b: URLRecord) -> Bool { a.string == b.string }
    public func hash(into hasher: inout Hasher) { hasher.combine(string) }
}
