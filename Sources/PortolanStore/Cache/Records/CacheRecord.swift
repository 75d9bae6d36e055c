// SPDX-License-Identifier: Apache-2.0

#if Persistence
    import HTTPTypes
    import PortolanCache
    import PortolanCore
    import PortolanURL

    /// What the index stores of an entry, besides the octets of its body.
    struct CacheRecord: Sendable {
        /// The format of the octets. A record of another format is like a damaged one.
        private static let format: UInt8 = 1

        let key: CacheKey
        var stored: StoredResponse
        let attributes: CacheAttributes
        let trailers: HTTPFields?
        let layout: BodyLayout

        init(key: CacheKey, stored: StoredResponse, attributes: CacheAttributes, trailers: HTTPFields?, layout: BodyLayout) {
            (self.key, self.stored, self.attributes, self.trailers, self.layout) = (key, stored, attributes, trailers, layout)
        }

        // MARK: Writing

        var octets: [UInt8] {
            var encoder = RecordEncoder()
            encoder.write(Self.format)
            encoder.write(key.url.string)
            encoder.write(key.partition) { $0.write($1) }
            encoder.write(Int64(stored.status.code))
            encoder.write(stored.fields)
            encoder.write(stored.requestTime)
            encoder.write(stored.responseTime)
            encoder.write(stored.selectingFields.selectors) { encoder, selector in
                encoder.write(selector.name)
                encoder.write(selector.value) { $0.write($1) }
            }
            write(stored.content, &encoder)
            encoder.write(stored.isDecoded)
            write(attributes, &encoder)
            encoder.write(trailers) { $0.write($1) }
            encoder.write(layout.checksums) { $0.write($1) }
            return encoder.octets
        }

        private func write(_ content: StoredContent, _ encoder: inout RecordEncoder) {
            encoder.write(content.isComplete)
            switch content {
            case .complete(let length): encoder.write(length)
            case .partial(let ranges, let length):
                encoder.write(length) { $0.write($1) }
                encoder.write(ranges.ranges) { encoder, range in
                    encoder.write(range.lowerBound)
                    encoder.write(range.upperBound)
                }
            }
        }

        private func write(_ attributes: CacheAttributes, _ encoder: inout RecordEncoder) {
            encoder.write(attributes.mimeType) { $0.write($1.description) }
            encoder.write(attributes.textEncodingName) { $0.write($1) }
            encoder.write(attributes.expectedLength) { $0.write($1) }
            encoder.write(attributes.suggestedFilename) { $0.write($1) }
            encoder.write(attributes.hasStatus)
            encoder.write(attributes.isVerified)
            encoder.write(attributes.remainingContentCodings) { $0.write($1) }
            encoder.write(attributes.userInfo) { encoder, pair in
                encoder.write(pair.key)
                encoder.write(pair.value)
            }
        }

        // MARK: Reading

        /// Reads a record.
        ///
        /// - Parameter expected: the key that the record must have. Its URL is then not parsed again.
        init(_ octets: [UInt8], key expected: CacheKey? = nil) throws(RecordDecoder.Malformed) {
            var decoder = RecordDecoder(octets)
            guard try decoder.octet() == Self.format else { throw RecordDecoder.Malformed() }
            let key = try Self.key(
                try decoder.text(), try decoder.optional { (decoder) throws(RecordDecoder.Malformed) in try decoder.text() }, expected)
            let code = try decoder.integer()
            guard 0...999 ~= code else { throw RecordDecoder.Malformed() }
            let fields = try decoder.fields()
            let (requestTime, responseTime) = (try decoder.integer(), try decoder.integer())
            let selectors = try decoder.array { (decoder) throws(RecordDecoder.Malformed) in
                SelectingFields.Selector(
                    name: try decoder.text(),
                    value: try decoder.optional { (decoder) throws(RecordDecoder.Malformed) in try decoder.bytes() })
            }
            let content = try Self.content(&decoder)
            stored = StoredResponse(
                url: key.url, status: HTTPResponse.Status(code: Int(code)), fields: fields, requestTime: requestTime,
                responseTime: responseTime, selectingFields: SelectingFields(selectors), content: content, isDecoded: try decoder.bool())
            attributes = try Self.attributes(&decoder, key)
            trailers = try decoder.optional { (decoder) throws(RecordDecoder.Malformed) in try decoder.fields() }
            let checksums = try decoder.array { (decoder) throws(RecordDecoder.Malformed) in try decoder.unsigned() }
            guard let layout = BodyLayout(content.ranges, checksums), decoder.isAtEnd else { throw RecordDecoder.Malformed() }
            (self.key, self.layout) = (key, layout)
        }

        private static func key(_ url: String, _ partition: String?, _ expected: CacheKey?) throws(RecordDecoder.Malformed) -> CacheKey {
            if let expected, expected.url.string == url, expected.partition == partition { return expected }
            // `try?` because the reason does not matter.
            guard let parsed = try? URLRecord(parsing: url) else { throw RecordDecoder.Malformed() }
            let key = CacheKey(parsed, partition: partition)
            guard key.url.string == url else { throw RecordDecoder.Malformed() }
            return key
        }

        private static func content(_ decoder: inout RecordDecoder) throws(RecordDecoder.Malformed) -> StoredContent {
            guard try !decoder.bool() else {
                let length = try decoder.integer()
                guard length >= 0 else { throw RecordDecoder.Malformed() }
                return .complete(length: length)
            }
            let length = try decoder.optional { (decoder) throws(RecordDecoder.Malformed) in try decoder.integer() }
            let ranges = try decoder.array { (decoder) throws(RecordDecoder.Malformed) in
                let (start, end) = (try decoder.integer(), try decoder.integer())
                guard 0 <= start, start < end, end <= length ?? .max else { throw RecordDecoder.Malformed() }
                return start..<end
            }
            var set = ByteRangeSet()
            for range in ranges { set.insert(range) }
            // The ranges are sorted, and do not touch.
            guard set.ranges == ranges, length ?? 0 >= 0 else { throw RecordDecoder.Malformed() }
            return .partial(set, completeLength: length)
        }

        private static func attributes(_ decoder: inout RecordDecoder, _ key: CacheKey) throws(RecordDecoder.Malformed) -> CacheAttributes {
            var attributes = CacheAttributes(Response(url: key.url))
            attributes.mimeType = try decoder.optional { (decoder) throws(RecordDecoder.Malformed) in
                guard let type = MIMEType(parsing: try decoder.text()) else { throw RecordDecoder.Malformed() }
                return type
            }
            attributes.textEncodingName = try decoder.optional { (decoder) throws(RecordDecoder.Malformed) in try decoder.text() }
            attributes.expectedLength = try decoder.optional { (decoder) throws(RecordDecoder.Malformed) in try decoder.integer() }
            attributes.suggestedFilename = try decoder.optional { (decoder) throws(RecordDecoder.Malformed) in try decoder.text() }
            attributes.hasStatus = try decoder.bool()
            attributes.isVerified = try decoder.bool()
            attributes.remainingContentCodings = try decoder.array { (decoder) throws(RecordDecoder.Malformed) in try decoder.text() }
            let pairs = try decoder.array { (decoder) throws(RecordDecoder.Malformed) in (try decoder.text(), try decoder.text()) }
            attributes.userInfo = Dictionary(pairs) { $1 }
            return attributes
        }
    }
#endif
