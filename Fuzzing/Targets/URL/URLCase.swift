// SPDX-License-Identifier: Apache-2.0

import Portolan

/// A URL as text, alone and as a reference to a base: its serialisation is that of the same record, and its components lie inside it, in order.
///
/// The input is the text; where a line break stands in it, what comes before the first is the base.
enum URLCase {
    static func judge(_ input: [UInt8]) throws(Finding) {
        let parts = input.split(separator: UInt8(ascii: "\n"), maxSplits: 1, omittingEmptySubsequences: false)
        let texts = parts.map { String(decoding: $0, as: UTF8.self) }
        guard texts.count == 2, let base = try record(texts[0], relativeTo: nil) else {
            _ = try record(String(decoding: input, as: UTF8.self), relativeTo: nil)
            return
        }
        try judge(base)
        if let resolved = try record(texts[1], relativeTo: base) { try judge(resolved) }
    }

    /// The record, or nothing where the text is refused, as long as the refusal is sound.
    private static func record(_ text: String, relativeTo base: URLRecord?) throws(Finding) -> URLRecord? {
        let record: URLRecord
        do throws(URLSyntaxError) {
            record = try URLRecord(parsing: text, relativeTo: base)
        } catch {
            try require((0...text.utf8.count).contains(error.offset), "the refusal of \(text.debugDescription) names byte \(error.offset)")
            try require(!error.description.contains(where: \.isNewline), "the refusal of \(text.debugDescription) has several lines")
            return nil
        }
        try judge(record)
        return record
    }

    private static func judge(_ record: URLRecord) throws(Finding) {
        let text = record.description
        let quoted = text.debugDescription
        try require(text.utf8.allSatisfy { (0x21...0x7E).contains($0) || $0 == 0x20 && record.hasOpaquePath }, "\(quoted) has a raw byte")
        let again = try? URLRecord(parsing: text)
        try require(
            again == record, "\(quoted) is serialised as \(again?.description.debugDescription ?? "what is no URL") the second time")
        try require(again.map(components) == components(of: record), "\(quoted) falls into other components the second time")
        try require(assembled(record) == text, "the components of \(quoted) make \(assembled(record).debugDescription)")
        try judgeDerived(record, quoted)
    }

    private static func judgeDerived(_ record: URLRecord, _ quoted: String) throws(Finding) {
        let bare = record.withoutCredentials.withoutFragment
        try require(!bare.hasCredentials && bare.fragment == nil, "\(quoted) keeps its credentials or fragment when they are taken out")
        let parsed = try? URLRecord(parsing: bare.description)
        try require(parsed.map(components) == components(of: bare), "\(quoted) is another URL without credentials and fragment")
        try require(record.host == nil || record.hasSameOrigin(as: bare), "\(quoted) has another origin without credentials and fragment")
        if let own = try? URLRecord(parsing: "", relativeTo: record) {
            try require(own == record.withoutFragment, "the empty reference to \(quoted) leads to \(own)")
        }
    }

    private static func components(of record: URLRecord) -> [String] {
        URLRecord.Component.allCases.map { String(record[$0]) } + [record.port.map { "\($0)" } ?? "-", "\(record.hasOpaquePath)"]
    }

    /// The serialisation, put together from the components as the standard says.
    ///
    /// Source: WHATWG URL §4.5, "URL serializer".
    private static func assembled(_ record: URLRecord) -> String {
        var text = "\(record.scheme):"
        if let host = record.host {
            text += "//"
            if record.hasCredentials {
                text += record.username
                if !record.password.isEmpty { text += ":\(record.password)" }
                text += "@"
            }
            text += host
            if let port = record.port { text += ":\(port)" }
        } else if record.path.hasPrefix("//") {
            text += "/."
        }
        text += record.path
        if let query = record.query { text += "?\(query)" }
        if let fragment = record.fragment { text += "#\(fragment)" }
        return text
    }
}
