// SPDX-License-Identifier: Apache-2.0

package import HTTPTypes
import PortolanCore
import PortolanURL

/// An entry without its identifier and its body: what a store on disk or on a server writes besides the body.
package struct CacheEntryHead: Sendable {
    package let key: CacheKey
    package let stored: StoredResponse
    package let attributes: CacheAttributes
    package let trailers: HTTPFields?

    package init(key: CacheKey, stored: StoredResponse, attributes: CacheAttributes, trailers: HTTPFields?) {
        (self.key, self.stored, self.attributes, self.trailers) = (key, stored, attributes, trailers)
    }

    package init(_ entry: CacheEntry) {
        self.init(key: entry.key, stored: entry.stored, attributes: entry.attributes, trailers: entry.trailers)
    }

    package func entry(_ id: CacheEntry.ID, _ body: any CacheBody, use: CacheEntry.Use? = nil) -> CacheEntry {
        CacheEntry(id: id, key: key, stored: stored, attributes: attributes, trailers: trailers, body: body, use: use)
    }

    /// This head after a validation.
    package func updated(_ stored: StoredResponse) -> Self {
        Self(key: key, stored: stored, attributes: attributes, trailers: trailers)
    }
}

// MARK: - Encoding

/// The encoding: a version, then the values in a fixed order. Integers have their least significant octet first, texts
/// and lists begin with their count, and an optional value begins with 0 or 1.
extension CacheEntryHead {
    /// Changes when the encoding changes. Heads with another version are not read.
    private static let version: UInt8 = 1

    package var encoded: [UInt8] {
        var output = CacheOctetWriter()
        output.append(Self.version)
        output.append(key.url.string)
        output.append(key.partition) { $0.append($1) }
        output.append(UInt16(truncatingIfNeeded: stored.status.code))
        output.append(stored.status.reasonPhrase)
        output.append(stored.requestTime)
        output.append(stored.responseTime)
        output.append(stored.isDecoded)
        append(stored.content, to: &output)
        append(stored.fields, to: &output)
        output.append(count: stored.selectingFields.selectors.count)
        for selector in stored.selectingFields.selectors {
            output.append(selector.name)
            output.append(selector.value) { $0.append($1) }
        }
        output.append(trailers) { append($1, to: &$0) }
        append(attributes, to: &output)
        return output.octets
    }

    private func append(_ content: StoredContent, to output: inout CacheOctetWriter) {
        output.append(content.isComplete)
        output.append(content.completeLength) { $0.append($1) }
        guard case .partial(let ranges, _) = content else { return }
        output.append(count: ranges.ranges.count)
        for range in ranges.ranges {
            output.append(range.lowerBound)
            output.append(range.upperBound)
        }
    }

    private func append(_ fields: HTTPFields, to output: inout CacheOctetWriter) {
        output.append(count: fields.count)
        for field in fields {
            output.append(field.name.rawName)
            output.append(unsafe field.withUnsafeBytesOfValue { unsafe Array($0) })
        }
    }

    private func append(_ attributes: CacheAttributes, to output: inout CacheOctetWriter) {
        output.append(attributes.mimeType?.description) { $0.append($1) }
        output.append(attributes.textEncodingName) { $0.append($1) }
        output.append(attributes.expectedLength) { $0.append($1) }
        output.append(attributes.suggestedFilename) { $0.append($1) }
        output.append(attributes.hasStatus)
        output.append(attributes.isVerified)
        output.append(count: attributes.remainingContentCodings.count)
        for coding in attributes.remainingContentCodings { output.append(coding) }
        output.append(count: attributes.userInfo.count)
        for (name, value) in attributes.userInfo.sorted(by: { $0.key < $1.key }) {
            output.append(name)
            output.append(value)
        }
    }
}

// MARK: - Decoding

extension CacheEntryHead {
    /// - Parameters:
    ///   - octets: untrusted octets. The result is `nil` if they are malformed.
    ///   - start: the position at which the head begins. The head extends to the end of the octets.
    ///   - expected: the key that the head probably has. If it does, its URL is not parsed again.
    package init?(decoding octets: [UInt8], from start: Int = 0, key expected: CacheKey? = nil) {
        var input = CacheOctetReader(octets, from: start)
        guard input.byte() == Self.version, let url = Self.url(&input, expected), let partition = input.optional({ $0.text() }),
            let stored = Self.stored(url, &input), let trailers = input.optional({ Self.fields(&$0) }),
            let attributes = Self.attributes(&input), input.isAtEnd
        else { return nil }
        self.init(key: CacheKey(url, partition: partition), stored: stored, attributes: attributes, trailers: trailers)
    }

    private static func url(_ input: inout CacheOctetReader, _ expected: CacheKey?) -> URLRecord? {
        guard let text = input.text() else { return nil }
        if let expected, expected.url.string == text { return expected.url }
        // `try?` because the reason does not matter.
        guard let url = try? URLRecord(parsing: text), url.string == text, CacheKey(url).url == url else { return nil }
        return url
    }

    private static func stored(_ url: URLRecord, _ input: inout CacheOctetReader) -> StoredResponse? {
        guard let code = input.integer(UInt16.self), code <= 999, code != 206, let reason = input.text(),
            let requestTime = input.integer(Int64.self), let responseTime = input.integer(Int64.self), let isDecoded = input.boolean(),
            let content = content(&input), let fields = fields(&input), let selecting = selectingFields(&input)
        else { return nil }
        return StoredResponse(
            url: url, status: HTTPResponse.Status(code: Int(code), reasonPhrase: reason), fields: fields, requestTime: requestTime,
            responseTime: responseTime, selectingFields: selecting, content: content, isDecoded: isDecoded)
    }

    private static func content(_ input: inout CacheOctetReader) -> StoredContent? {
        guard let isComplete = input.boolean(), let length = input.optional({ $0.integer(Int64.self) }), length ?? 0 >= 0 else {
            return nil
        }
        if isComplete { return length.map { .complete(length: $0) } }
        guard let count = input.count(), count <= ByteRangeSet.limit else { return nil }
        var ranges = ByteRangeSet()
        for index in 0..<count {
            guard let lower = input.integer(Int64.self), let upper = input.integer(Int64.self), 0 <= lower, lower < upper,
                upper <= length ?? .max, ranges.insert(lower..<upper), ranges.ranges.count == index + 1,
                ranges.ranges.last == lower..<upper
            else { return nil }
        }
        return StoredContent(ranges, completeLength: length)
    }

    private static func fields(_ input: inout CacheOctetReader) -> HTTPFields? {
        // HTTPTypes traps if there are more fields.
        guard let count = input.count(), count < Int(UInt16.max) else { return nil }
        var fields = HTTPFields()
        for _ in 0..<count {
            guard let name = input.text().flatMap({ HTTPField.Name($0) }), let value = input.bytes(),
                // HTTPTypes would replace these by blanks.
                !value.contains(where: { $0 == 0 || $0 == 10 || $0 == 13 })
            else { return nil }
            fields.append(HTTPField(name: name, lenientValue: value))
        }
        return fields
    }

    private static func selectingFields(_ input: inout CacheOctetReader) -> SelectingFields? {
        guard let count = input.count(), count <= SelectingFields.limit else { return nil }
        var selectors: [SelectingFields.Selector] = []
        for _ in 0..<count {
            guard let name = input.text(), HTTPField.Name(name)?.canonicalName == name, selectors.last.map({ $0.name < name }) ?? true,
                let value = input.optional({ $0.bytes() })
            else { return nil }
            selectors.append(SelectingFields.Selector(name: name, value: value))
        }
        return SelectingFields(selectors)
    }

    private static func attributes(_ input: inout CacheOctetReader) -> CacheAttributes? {
        var attributes = CacheAttributes()
        guard let type = input.optional({ $0.text() }), let encoding = input.optional({ $0.text() }),
            let length = input.optional({ $0.integer(Int64.self) }), length ?? 0 >= 0, let name = input.optional({ $0.text() }),
            let hasStatus = input.boolean(), let isVerified = input.boolean(), let codingCount = input.count()
        else { return nil }
        attributes.mimeType = type.flatMap { MIMEType(parsing: $0) }
        guard attributes.mimeType?.description == type else { return nil }
        (attributes.textEncodingName, attributes.expectedLength, attributes.suggestedFilename) = (encoding, length, name)
        (attributes.hasStatus, attributes.isVerified) = (hasStatus, isVerified)
        for _ in 0..<codingCount {
            guard let coding = input.text() else { return nil }
            attributes.remainingContentCodings.append(coding)
        }
        guard let infoCount = input.count() else { return nil }
        for _ in 0..<infoCount {
            guard let name = input.text(), let value = input.text() else { return nil }
            attributes.userInfo[name] = value
        }
        return attributes
    }
}
