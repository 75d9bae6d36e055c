// SPDX-License-Identifier: Apache-2.0

#if Redis
    import PortolanCache
    import PortolanCoding

    /// An entry without its body, as the server stores it. The octets are untrusted input, because any client of the
    /// server can write them.
    struct RedisRecord: Sendable {
        let epochs: RedisEpochs
        /// In seconds since 1970. The server keeps the entries of a URL until the last of them expires.
        let expirationTime: Int64
        /// In bytes.
        let bodyLength: Int64
        let bodyChecksum: UInt32
        let head: CacheEntryHead

        private static let version: UInt8 = 1
        /// The size of the version and the checksum in bytes.
        private static let prefixLength = 5

        init(epochs: RedisEpochs, expirationTime: Int64, bodyLength: Int64, bodyChecksum: UInt32, head: CacheEntryHead) {
            (self.epochs, self.expirationTime, self.bodyLength) = (epochs, expirationTime, bodyLength)
            (self.bodyChecksum, self.head) = (bodyChecksum, head)
        }

        /// The version of the format, the CRC-32 of all octets after the checksum, and these octets.
        var encoded: [UInt8] {
            var rest = CacheOctetWriter()
            for text in epochs.texts { rest.append(text) }
            rest.append(expirationTime)
            rest.append(bodyLength)
            rest.append(bodyChecksum)
            let octets = rest.octets + head.encoded
            var prefix = CacheOctetWriter()
            prefix.append(Self.version)
            prefix.append(unsafe CRC32.checksum(of: octets.span.bytes))
            return prefix.octets + octets
        }

        /// - Returns: `nil` for another version, a wrong checksum, or malformed contents.
        init?(decoding octets: [UInt8]) {
            var input = CacheOctetReader(octets)
            guard input.byte() == Self.version, let checksum = input.integer(UInt32.self),
                unsafe CRC32.checksum(of: octets.span.extracting(Self.prefixLength...).bytes) == checksum
            else { return nil }
            var texts: [[UInt8]] = []
            for _ in 0..<4 {
                guard let text = input.bytes() else { return nil }
                texts.append(text)
            }
            guard let epochs = RedisEpochs(texts), let expirationTime = input.integer(Int64.self),
                let bodyLength = input.integer(Int64.self), let bodyChecksum = input.integer(UInt32.self),
                let head = CacheEntryHead(decoding: octets, from: octets.count - input.remainingCount),
                head.stored.content.ranges.count == bodyLength
            else { return nil }
            self.init(epochs: epochs, expirationTime: expirationTime, bodyLength: bodyLength, bodyChecksum: bodyChecksum, head: head)
        }

        /// Returns the body; `nil` if the length or the checksum of `octets` is wrong.
        func body(_ octets: [UInt8]) -> MemoryCacheBody? {
            guard octets.count == bodyLength, unsafe CRC32.checksum(of: octets.span.bytes) == bodyChecksum else { return nil }
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

    /// The reply to ``RedisScripts/read`` or ``RedisScripts/open``: epochs, and the entries of a URL.
    struct RedisEntries: Sendable {
        struct Item: Sendable {
            let id: CacheEntry.ID
            let record: RedisRecord
            /// `nil` if the body was not read.
            let body: [UInt8]?
        }

        let epochs: RedisEpochs
        /// The version of the hash; empty if there is none.
        private(set) var version: [UInt8] = []
        /// The mark of the last removal; empty if there is none.
        private(set) var removalMark: [UInt8] = []
        private(set) var items: [Item] = []
        /// The names of malformed records, and of values that this version does not write.
        private(set) var damagedNames: [String] = []

        /// - Returns: `nil` if the reply is missing, an error, or malformed.
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
                case "r" where name == "r": removalMark = value
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
