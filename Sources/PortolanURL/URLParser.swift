// SPDX-License-Identifier: Apache-2.0

/// Parses a URL once, from front to back, and writes its serialisation at the same time.
///
/// The standard describes the parser as a state machine with about twenty states that fills a record, which is
/// serialised afterwards. Here each part of the text has a function, named after its states, that writes directly to
/// `output`. `layout` records the positions of the components. Functions receive the source as a parameter, because a
/// span can't be stored in a structure that lives longer than the span.
///
/// WHATWG URL §4.4
struct URLParser {
    var output = RewriteBuffer()
    var layout = URLRecord.Layout()
    /// The next byte to read.
    var position = 0

    /// The violated rule, and its offset in the source.
    struct Failure: Error {
        let rule: URLSyntaxError.Rule
        let offset: Int

        init(_ rule: URLSyntaxError.Rule, at offset: Int) {
            self.rule = rule
            self.offset = offset
        }
    }

    var isSpecial: Bool { layout.specialScheme != nil }

    /// The next byte, or nil at the end.
    @inline(__always)
    func next(in source: Span<UInt8>) -> UInt8? { position < source.count ? source[position] : nil }

    /// Whether the byte at an offset is a slash, or, in a special URL, a backslash.
    func isSlash(at offset: Int, in source: Span<UInt8>) -> Bool {
        guard offset < source.count else { return false }
        return source[offset] == UInt8(ascii: "/") || (isSpecial && source[offset] == UInt8(ascii: "\\"))
    }
}

extension URLParser {
    /// Parses a text as it is, and, if that fails, without its tabs and newlines.
    ///
    /// Tabs and newlines are rare, and each rule of the parser rejects or reports them, so ordinary texts are not
    /// searched for them.
    static func parse(_ text: String, relativeTo base: URLRecord?) throws(URLSyntaxError) -> URLRecord {
        do {
            return try parseVerbatim(text, relativeTo: base)
        } catch {
            guard text.utf8.contains(where: \.isTabOrNewline) else {
                throw URLSyntaxError(rule: error.rule, offset: error.offset, text: text)
            }
        }
        do {
            let cleaned = String(decoding: text.utf8.filter { !$0.isTabOrNewline }, as: UTF8.self)
            return try parseVerbatim(cleaned, relativeTo: base)
        } catch {
            throw URLSyntaxError(rule: error.rule, offset: offset(ofUnit: error.offset, in: text), text: text)
        }
    }

    private static func parseVerbatim(_ text: String, relativeTo base: URLRecord?) throws(Failure) -> URLRecord {
        let utf8 = text.utf8
        let whole = utf8.span
        let trimmed = trimmedRange(of: whole)
        var parser = URLParser()
        do {
            try parser.parse(whole.extracting(trimmed), relativeTo: base)
        } catch {
            throw Failure(error.rule, at: trimmed.lowerBound + error.offset)
        }
        return URLRecord(serialised: parser.serialised(from: text, trimmed: trimmed), layout: parser.layout)
    }

    /// The range of the text without control characters and spaces at both ends.
    private static func trimmedRange(of text: Span<UInt8>) -> Range<Int> {
        var range = 0..<text.count
        while let first = range.first, text[first] <= 0x20 { range.removeFirst() }
        while let last = range.last, text[last] <= 0x20 { range.removeLast() }
        return range
    }

    private func serialised(from text: String, trimmed: Range<Int>) -> String {
        if let bytes = output.ownBytes { return String(decoding: bytes, as: UTF8.self) }
        if output.count == text.utf8.count { return text }
        return String(decoding: text.utf8.dropFirst(trimmed.lowerBound).prefix(output.count), as: UTF8.self)
    }

    /// The offset of the byte that has the index `number` when tabs and newlines are not counted.
    private static func offset(ofUnit number: Int, in text: String) -> Int {
        var remaining = number
        for (offset, byte) in text.utf8.enumerated() where !byte.isTabOrNewline {
            if remaining == 0 { return offset }
            remaining -= 1
        }
        return text.utf8.count
    }
}
