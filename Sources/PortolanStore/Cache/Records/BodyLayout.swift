// SPDX-License-Identifier: Apache-2.0

#if Persistence
    import PortolanCache

    /// How the octets of a body are stored: those of all ranges, one after the other, in blocks with checksums.
    struct BodyLayout: Hashable, Sendable {
        /// The size of all blocks but the last one, in bytes.
        static let blockSize = 256 << 10

        let ranges: ByteRangeSet
        /// A checksum for each block.
        let checksums: [UInt64]
        /// The number of stored octets.
        let length: Int64

        /// - Returns: `nil` if there is not one checksum for each block.
        init?(_ ranges: ByteRangeSet, _ checksums: [UInt64]) {
            (self.ranges, self.checksums) = (ranges, checksums)
            length = ranges.count
            guard Self.blockCount(length) == Int64(checksums.count) else { return nil }
        }

        static func blockCount(_ length: Int64) -> Int64 { length / Int64(blockSize) + (length % Int64(blockSize) > 0 ? 1 : 0) }

        /// The range in the stored octets for a range of the representation; `nil` if an octet of that range is not
        /// stored.
        func storedRange(of range: Range<Int64>) -> Range<Int64>? {
            var start: Int64 = 0
            for known in ranges.ranges {
                if known.lowerBound <= range.lowerBound, range.upperBound <= known.upperBound {
                    return start + range.lowerBound - known.lowerBound..<start + range.upperBound - known.lowerBound
                }
                start += known.upperBound - known.lowerBound
            }
            return nil
        }

        /// The range of a block in the stored octets.
        func block(_ index: Int) -> Range<Int64> {
            let start = Int64(index) * Int64(Self.blockSize)
            return start..<min(start + Int64(Self.blockSize), length)
        }

        /// The index of the block that contains a stored octet.
        static func blockIndex(of offset: Int64) -> Int { Int(offset / Int64(blockSize)) }

        /// Whether the octets have the checksum of a block.
        ///
        /// - Parameter id: the identifier of the entry.
        func isIntact(_ octets: RawSpan, block index: Int, id: Int64) -> Bool {
            checksums.indices.contains(index) && Checksum.of(octets, seed: Self.seed(id, index)) == checksums[index]
        }

        static func seed(_ id: Int64, _ block: Int) -> Int64 { id &+ Int64(block) &* 0x5851_F42D }
    }
#endif
