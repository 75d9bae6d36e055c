// SPDX-License-Identifier: Apache-2.0

import Portolan

/// Parses a URL, alone or relative to a base. The serialisation must parse to the same record, and must consist of the
/// record's components.
///
/// The input is the text. If it contains a line break, the part before the first one is the base.
enum URLCase {
    static func check(_ input: [UInt8]) throws(FuzzFinding) {
        let parts = input.split(separator: UInt8(ascii: "\n"), maxSplits: 1, omittingEmptySubsequences: false)
        let texts = parts.map { String(decoding: $0, as: UTF8.self) }
        guard texts.count == 2, let base = try record(texts[0], relativeTo: nil) else {
            _ = try record(String(decoding: input, as: UTF8.self), relativeTo: nil)
            return
        }
        try check(base)
        if let resolved = try record(texts[1], relativeTo: base) { try check(resolved) }
    }

    /// Returns the record, or `nil` if the text is rejected with a valid error.
    private static func record(_ text: String, relativeTo base: URLRecord?) throws(FuzzFinding) -> URLRecord? {
        let record: URLRecord
        do throws(URLSyntaxError) {
            record = try URLRecord(parsing: text, relativeTo: base)
        } catch {
            try require((0...text.utf8.count).contains(error.offset), "the error for \(text.debugDescription) names byte \(error.offset)")
            try require(!error.description.contains(where: \.isNewline), "the error for \(text.debugDescription) has several lines")
            return nil
        }
        try check(record)
        return record
    }

    private static func check(_ record: URLRecord) throws(FuzzFinding) {
        let text = record.string
        let quoted = text.debugDescription
        try require(text.utf8.allSatisfy { (0x21...0x7E).contains($0) || $0 == 0x20 && record.hasOpaquePath }, "\(quoted) has a raw byte")
        let reparsedRecord = try? URLRecord(parsing: text)
        try require(
            reparsedRecord == record,
            "\(quoted) is serialised as \(reparsedRecord?.string.debugDescription ?? "an invalid URL") the second time")
        try require(reparsedRecord.map(components) == components(of: record), "\(quoted) has other components the second time")
        try require(assembled(record) == text, "the components of \(quoted) make \(assembled(record).debugDescription)")
        try checkDerivedRecords(record, quoted)
    }

    private static func checkDerivedRecords(_ record: URLRecord, _ quoted: String) throws(FuzzFinding) {
        let strippedRecord = record.withoutCredentials.withoutFragment
        try require(
            !strippedRecord.hasCredentials && strippedRecord.fragment == nil,
            "\(quoted) keeps its credentials or fragment after their removal")
        let reparsedRecord = try? URLRecord(parsing: strippedRecord.string)
        try require(
            reparsedRecord.map(components) == components(of: strippedRecord), "\(quoted) is another URL without credentials and fragment")
        try require(
            record.host == nil || record.hasSameOrigin(as: strippedRecord), "\(quoted) has another origin without credentials and fragment")
        if let resolvedRecord = try? URLRecord(parsing: "", relativeTo: record) {
            try require(resolvedRecord == record.withoutFragment, "the empty reference to \(quoted) resolves to \(resolvedRecord)")
        }
    }

    private static func components(of record: URLRecord) -> [String] {
        let requiredComponents = [record.scheme, record.username, record.password, record.path, record.schemeSpecificPart].map(String.init)
        let optionalComponents = [record.host, record.query, record.fragment].map { $0.map(String.init) ?? "-" }
        return requiredComponents + optionalComponents + [record.port.map { "\($0)" } ?? "-", "\(record.hasOpaquePath)"]
    }

    /// Makes the serialisation from the components, as the URL standard describes it.
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
