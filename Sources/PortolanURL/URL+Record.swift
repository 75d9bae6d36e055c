// SPDX-License-Identifier: Apache-2.0

public import FoundationEssentials

extension URL {
    /// Makes Foundation's URL from a record.
    ///
    /// Foundation follows RFC 3986 and may encode more than the WHATWG serialisation does, for example `|` in a query.
    /// The result is nil if RFC 3986 does not allow the text, as for some opaque hosts.
    public init?(_ record: URLRecord) { self.init(string: record.string) }
}

extension URLRecord {
    /// Parses the absolute text of Foundation's URL.
    ///
    /// - Throws: the errors of `init(parsing:relativeTo:)`. A relative URL fails, because it has no scheme.
    public init(_ url: URL) throws(URLSyntaxError) { try self.init(parsing: url.absoluteString) }
}
