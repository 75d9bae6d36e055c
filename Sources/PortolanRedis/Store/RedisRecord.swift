// SPDX-License-Identifier: Apache-2.0

#if Redis
    import PortolanCache
    import PortolanCoding

    /// An entry without its body, as the server has it. Other machines can have written anything.
    struct RedisRecord: Sendable {
        let epochs: RedisEpochs
        /// When the entry ends, in seconds since 1970: the server keeps the entries of a URL until the last one ends.
        let end: Int64
        let bodyCount: Int64
        let bodyChecksum: UInt32
        let head: CacheEntryHead

        private static let version: UInt8 = 1
        /// The version and the checksum.
        private static let headerCount = 5

        init(epochs: RedisEpochs, end: Int64, bodyCount: Int64, bodyChecksum: UInt32, head: CacheEntryHead) {
            (self.epochs, self.end, self.bodyCount) = (epochs, end, bodyCount)
            (self.bodyChecksum, self.head) = (bodyChecksum, head)
        }

        /// A version, the checksum of the rest, and the rest.
        var encoded: [UInt8] {
            var rest = CacheOctetWriter()
            for text in epochs.texts { rest.append(text) }
            rest.append(end)
            rest.append(bodyCount)
            rest.append(bodyChecksum)
            let octets = rest.octets + head.encoded
            var header = CacheOctetWriter()
            header.append(Self.version)
            header.append(unsafe CRC32.checksum(of: octets.span.bytes))
            return header.octets + octets
        }

        /// - Returns: `nil` for anything that ``encoded`` has not written.
        init?(decoding octets: [UInt8]) {
            var input = CacheOctetReader(octets)
            guard input.byte() == Self.version, let checksum = input.integer(UInt32.self),
                unsafe CRC32.checksum(of: octets.span.extracting(Self.headerCount...).bytes) == checksum
            else { return nil }
            var texts: [[UInt8]] = []
            for _ in 0..<4 {
                guard let text = input.run() else { return nil }
                texts.append(text)
            }
            guard let epochs = RedisEpochs(texts), let end = input.integer(Int64.self), let bodyCount = input.integer(Int64.self),
                let bodyChecksum = input.integer(UInt32.self),
                let head = CacheEntryHead(decoding: octets, from: octets.count - input.remainingCount),
                head.stored.content.ranges.count == bodyCount
            else { return nil }
            self.init(epochs: epochs, end: end, bodyCount: bodyCount, bodyChecksum: bodyChecksum, head: head)
        }

        /// The body, if these are its octets.
        func body(_ octets: [UInt8]) -> MemoryCacheBody? {
            guard octets.count == bodyCount, unsafe CRC32.checksum(of: octets.span.bytes) == bodyChecksum else { return nil }
            let ranges = head.stored.content.ranges.ranges
            if ranges.count == 1, let range = ranges.first {
                return MemoryCacheBody([MemoryCacheBody.Piece(start: range.lowerBound, octets: octets)])
            }
            var start = 0
            return MemoryCacheBody(
                ranges.map { range in
                    defer { start += range.count }
                    return MemoryCacheBody.Piece(start: range.lowerBound, octets: Array(octets[start..<start + range.count]))
                })
        }
    }

    /// The entries of a URL, as a script has read them.
    struct RedisEntries: Sendable {
        struct Item: Sendable {
            let id: CacheEntry.ID
            let record: RedisRecord
            /// `nil` if the body was not read.
            let body: [UInt8]?
        }

        let epochs: RedisEpochs
        /// The version of the hash, and the mark of its last removal; empty if there is none.
        private(set) var version: [UInt8] = []
        private(set) var removal: [UInt8] = []
        private(set) var items: [Item] = []
        /// The names of values that are no entries.
        private(set) var damagedNames: [String] = []

        /// - Returns: `nil` if the reply is none of the script.
        init?(_ reply: RedisReply?) {
            guard let parts = reply?.elements, parts.count == 2, let epochs = RedisEpochs(parts[0]), let fields = parts[1].elements,
                fields.count.isMultiple(of: 2)
            else { return nil }
            self.epochs = epochs
            var records: [(id: CacheEntry.ID, octets: [UInt8])] = []
            var bodies: [CacheEntry.ID: [UInt8]] = [:]
            for index in stride(from: 0, to: fields.count, by: 2) {
                guard let name = fields[index].text, let value = fields[index + 1].octets else { continue }
                switch name.first {
                case "v" where name == "v": version = value
                case "r" where name == "r": removal = value
                case "m": if let id = Self.id(name) { records.append((id, value)) } else { damagedNames.append(name) }
                case "b": if let id = Self.id(name) { bodies[id] = value } else { damagedNames.append(name) }
                default: damagedNames.append(name)
                }
            }
            for (id, octets) in records {
                if let record = RedisRecord(decoding: octets) {
                    items.append(Item(id: id, record: record, body: bodies[id]))
                } else {
                    damagedNames.append(Self.recordName(id))
                }
            }
        }

        static func recordName(_ id: CacheEntry.ID) -> String { "m" + RedisMark.hexadecimal(UInt64(bitPattern: id.rawValue)) }
        static func bodyName(_ id: CacheEntry.ID) -> String { "b" + RedisMark.hexadecimal(UInt64(bitPattern: id.rawValue)) }

        private static func id(_ name: String) -> CacheEntry.ID? {
            let digits = name.dropFirst()
            guard digits.utf8.count == 16, let number = UInt64(digits, radix: 16), RedisMark.hexadecimal(number) == digits else {
                return nil
            }
            return CacheEntry.ID(Int64(bitPattern: number))
        }
    }
#endif
