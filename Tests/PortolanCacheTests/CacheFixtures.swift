// SPDX-License-Identifier: Apache-2.0

import HTTPTypes
import PortolanCore
import PortolanURL
import Testing

@testable import PortolanCache

/// Shorthand for the tables: fields as text, and times relative to one moment.
enum CacheFixtures {
    /// Sun, 06 Nov 1994 08:49:37 GMT
    static let now: Int64 = 784_111_777

    /// Fields of lines such as `Cache-Control: max-age=1`, separated by `|`.
    static func fields(_ text: String) throws -> HTTPFields {
        var fields = HTTPFields()
        for line in text.split(separator: "|") where line.contains(where: { $0 != " " }) {
            let colon = try #require(line.firstIndex(of: ":"))
            let name = try #require(HTTPField.Name(String(line[..<colon].drop { $0 == " " })))
            fields.append(HTTPField(name: name, value: trimmed(line[line.index(after: colon)...])))
        }
        return fields
    }

    private static func trimmed(_ text: Substring) -> String {
        let start = text.drop { $0 == " " }
        return String(start.reversed().drop { $0 == " " }.reversed())
    }

    /// The date that is `seconds` after ``now``.
    static func date(_ seconds: Int64) throws -> String {
        try #require(HTTPDate(secondsSince1970: now + seconds)).description
    }

    static func text(_ fields: HTTPFields) -> [String] { fields.map { "\($0.name.rawName): \($0.value)" } }

    /// A stored response that was requested and received at ``now``. `Vary` selects by `request`.
    static func response(
        _ text: String, status: HTTPResponse.Status = .ok, request: String = "", url: String = "https://example.org/a",
        content: StoredContent = .complete(length: 10), received: Int64 = 0, isDecoded: Bool = false
    ) throws -> StoredResponse {
        let fields = try fields(text)
        return StoredResponse(
            url: try URLRecord(parsing: url), status: status, fields: fields, requestTime: now + received, responseTime: now + received,
            selectingFields: try #require(SelectingFields(vary: fields, request: try Self.fields(request))), content: content,
            isDecoded: isDecoded)
    }

    static func lookup(
        _ text: String = "", method: HTTPRequest.Method = .get, policy: CachePolicy = .useProtocol, after seconds: Int64 = 0
    ) throws -> CacheLookup {
        CacheLookup(method: method, fields: try fields(text), policy: policy, now: now + seconds)
    }

    /// A content with these ranges.
    static func parts(_ ranges: Range<Int64>..., length: Int64?) -> StoredContent {
        var set = ByteRangeSet()
        for range in ranges { set.insert(range) }
        return StoredContent(set, completeLength: length)
    }
}
