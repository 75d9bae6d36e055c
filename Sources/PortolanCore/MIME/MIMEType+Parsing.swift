// SPDX-License-Identifier: Apache-2.0

extension MIMEType {
    /// Parses a MIME type as browsers do: malformed, empty and repeated parameters are ignored.
    ///
    /// - Parameter text: The type with its parameters, as in a `Content-Type` field. White space around it is removed.
    /// - Returns: `nil` if type or subtype is missing or is not an HTTP token.
    /// - Complexity: O(*n*) in the length of the text, however many parameters it has.
    ///
    /// Source: WHATWG MIME Sniffing, "parse a MIME type".
    public init?(parsing text: String) {
        self.init(parsingUTF8: text.utf8.span)
    }

    /// Parses a MIME type from the bytes of a header field. Each byte is one code point (ISO-8859-1).
    ///
    /// Source: WHATWG MIME Sniffing, "parse a MIME type from bytes".
    public init?(parsing bytes: Span<UInt8>) {
        var isASCII = true
        for index in bytes.indices where bytes[index] >= 0x80 { isASCII = false }
        if isASCII {
            self.init(parsingUTF8: bytes)
        } else {
            var scalars = String.UnicodeScalarView()
            for index in bytes.indices { scalars.append(Unicode.Scalar(bytes[index])) }
            self.init(parsing: String(scalars))
        }
    }

    private init?(parsingUTF8 input: Span<UInt8>) {
        let whole = Self.trimmed(0..<input.count, in: input)
        let bytes = input.extracting(whole)

        let slash = Self.firstIndex(of: ASCII.slash, orEndOf: bytes, from: 0)
        guard slash < bytes.count, ASCII.isHTTPToken(bytes.extracting(0..<slash)) else { return nil }

        let end = Self.firstIndex(of: ASCII.semicolon, orEndOf: bytes, from: slash + 1)
        let subtype = Self.trimmedAtEnd(slash + 1..<end, in: bytes)
        guard ASCII.isHTTPToken(bytes.extracting(subtype)) else { return nil }

        let essence = ASCII.lowercased(bytes.extracting(0..<subtype.upperBound))
        self.init(unchecked: essence, parameters: Self.parameters(in: bytes, from: end))
    }

    /// Parses the parameters that start with the semicolon at `start`. If `start` is the end of the bytes, there are
    /// none.
    private static func parameters(in bytes: Span<UInt8>, from start: Int) -> [Parameter] {
        var parameters = ParameterList()
        var position = start
        while position < bytes.count {
            position += 1  // the semicolon
            while position < bytes.count, ASCII.isHTTPWhitespace(bytes[position]) { position += 1 }

            let nameStart = position
            while position < bytes.count, bytes[position] != ASCII.semicolon, bytes[position] != ASCII.equals { position += 1 }
            let name = nameStart..<position
            if position < bytes.count {
                if bytes[position] == ASCII.semicolon { continue }
                position += 1  // the equals sign
            }
            guard position < bytes.count else { break }

            let isNameLegal = ASCII.isHTTPToken(bytes.extracting(name))
            if bytes[position] == ASCII.quote {
                let value = HTTPQuotedString.collectValue(in: bytes, at: &position)
                position = firstIndex(of: ASCII.semicolon, orEndOf: bytes, from: position)
                guard isNameLegal, ASCII.isHTTPQuotedStringToken(value.span) else { continue }
                parameters.append(name: bytes.extracting(name), value: value.span)
            } else {
                let valueStart = position
                position = firstIndex(of: ASCII.semicolon, orEndOf: bytes, from: position)
                let value = trimmedAtEnd(valueStart..<position, in: bytes)
                guard !value.isEmpty, isNameLegal, ASCII.isHTTPQuotedStringToken(bytes.extracting(value)) else { continue }
                parameters.append(name: bytes.extracting(name), value: bytes.extracting(value))
            }
        }
        return parameters.elements
    }

    private static func firstIndex(of byte: UInt8, orEndOf bytes: Span<UInt8>, from start: Int) -> Int {
        var index = start
        while index < bytes.count, bytes[index] != byte { index += 1 }
        return index
    }

    private static func trimmed(_ range: Range<Int>, in bytes: Span<UInt8>) -> Range<Int> {
        var range = trimmedAtEnd(range, in: bytes)
        while let first = range.first, ASCII.isHTTPWhitespace(bytes[first]) { range = range.dropFirst() }
        return range
    }

    private static func trimmedAtEnd(_ range: Range<Int>, in bytes: Span<UInt8>) -> Range<Int> {
        var range = range
        while let last = range.last, ASCII.isHTTPWhitespace(bytes[last]) { range = range.dropLast() }
        return range
    }
}

/// The parsed parameters. Of several with the same name, the first one is kept.
private struct ParameterList {
    private(set) var elements: [MIMEType.Parameter] = []

    /// The names of `elements`. Used if there are too many elements for a linear search.
    private var names: Set<String> = []
    private static let linearSearchLimit = 8

    mutating func append(name: Span<UInt8>, value: Span<UInt8>) {
        let name = ASCII.lowercased(name)
        if elements.count <= Self.linearSearchLimit {
            guard !elements.contains(where: { $0.name == name }) else { return }
            if elements.count == Self.linearSearchLimit { names = Set(elements.map(\.name) + [name]) }
        } else {
            guard names.insert(name).inserted else { return }
        }
        elements.append(MIMEType.Parameter(name: name, value: ASCII.text(value)))
    }
}
