// SPDX-License-Identifier: Apache-2.0

/// A body of any size that a test can verify: the byte at offset `i` is `i mod 251`. The period is a prime, so that
/// lost, repeated or swapped pieces of usual sizes are detected.
struct Pattern {
    private static let period = 251
    let block: [UInt8]

    /// - Parameter piece: the maximum number of bytes in one request for a piece.
    init(piece: Int) {
        block = (0..<piece + Self.period - 1).map { UInt8($0 % Self.period) }
    }

    /// The `count` bytes at `offset`, without a copy.
    func piece(at offset: Int64, count: Int) -> ArraySlice<UInt8> { block[range(of: offset, count: count)] }

    /// The range in ``block`` of the `count` bytes at `offset`.
    func range(of offset: Int64, count: Int) -> Range<Int> {
        let start = Int(offset % Int64(Self.period))
        return start..<start + count
    }
}
