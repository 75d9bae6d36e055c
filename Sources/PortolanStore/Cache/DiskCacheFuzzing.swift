// SPDX-License-Identifier: Apache-2.0

#if Persistence
    import HTTPTypes
    import PortolanCache
    import PortolanCore
    import PortolanURL

    /// Functions of this module for the fuzzer of the cache's files. Not a part of the API.
    @_spi(Fuzzing) public enum DiskCacheFuzzing {
        /// A row of the index, with the body of a small response.
        public struct Row: Hashable, Sendable {
            public var record: [UInt8]
            public var checksum: Int64
            public var body: [UInt8]
        }

        private static let id: Int64 = 7

        /// Reads the record of an entry, and writes it again; `nil` if it is malformed.
        public static func rewrittenRecord(_ octets: [UInt8]) -> [UInt8]? {
            CacheRecord(decoding: octets)?.octets
        }

        /// Makes the row of a response whose representation has the octets of `body` at `position`. Returns `nil` if
        /// they are more than one block.
        public static func row(body: [UInt8], position: Int64, tag: String) -> Row? {
            // `try?` because the URL is valid.
            guard let url = try? URLRecord(parsing: "https://example.org/a") else { return nil }
            let content = StoredContent(ByteRangeSet(position..<position + Int64(body.count)), completeLength: nil)
            let stored = StoredResponse(
                url: url, status: .ok, fields: [.eTag: tag], requestTime: 1, responseTime: 2, selectingFields: SelectingFields(),
                content: content)
            let checksums = body.isEmpty ? [] : unsafe [Checksum.of(body.span.bytes, seed: BodyLayout.seed(id, 0))]
            guard let layout = BodyLayout(content.ranges, checksums) else { return nil }
            let head = CacheEntryHead(key: CacheKey(url), stored: stored, attributes: CacheAttributes(Response(url: url)), trailers: nil)
            let record = CacheRecord(head, layout).octets
            return Row(record: record, checksum: CacheIndex.checksum(of: record, id), body: body)
        }

        /// Reads a row as a look-up does; `nil` if it is damaged.
        public static func read(_ row: Row) -> (record: [UInt8], body: [UInt8])? {
            let columns: [SQLValue] = [
                .integer(id), .blob(row.record), .integer(row.checksum), .blob(row.body), .integer(0), .integer(0), .integer(0),
                .integer(0),
            ]
            guard case .success(let read) = CacheIndex.row(columns, nil) else { return nil }
            return (read.record.octets, read.body ?? [])
        }
    }
#endif
