// SPDX-License-Identifier: Apache-2.0

#if Persistence
    import PortolanCache

    /// What the index stores of an entry, besides the octets of its body.
    struct CacheRecord: Sendable {
        /// The version of the format. A record of another version is treated as damaged.
        private static let format: UInt8 = 2

        let head: CacheEntryHead
        let layout: BodyLayout

        var key: CacheKey { head.key }
        var stored: StoredResponse { head.stored }

        init(_ head: CacheEntryHead, _ layout: BodyLayout) { (self.head, self.layout) = (head, layout) }

        /// The version of the format, the checksums of the blocks, and the head.
        var octets: [UInt8] {
            var output = CacheOctetWriter()
            output.append(Self.format)
            output.append(count: layout.checksums.count)
            for checksum in layout.checksums { output.append(checksum) }
            return output.octets + head.encoded
        }

        /// - Parameters:
        ///   - octets: untrusted octets. The result is `nil` if they are malformed.
        ///   - expected: the key that the record probably has. If the record has its URL, the URL is not parsed again.
        init?(decoding octets: [UInt8], key expected: CacheKey? = nil) {
            var input = CacheOctetReader(octets)
            guard input.byte() == Self.format, let count = input.count() else { return nil }
            var checksums: [UInt64] = []
            for _ in 0..<count {
                guard let checksum = input.uint64() else { return nil }
                checksums.append(checksum)
            }
            guard let head = CacheEntryHead(decoding: octets, from: octets.count - input.remainingCount, key: expected),
                let layout = BodyLayout(head.stored.content.ranges, checksums)
            else { return nil }
            self.init(head, layout)
        }
    }
#endif
