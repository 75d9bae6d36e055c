// SPDX-License-Identifier: Apache-2.0

/// A body of any size that anybody can check: the byte at offset `i` is `i mod 251`. The period is a prime, so that pieces of any usual size
/// that are lost, repeated or swapped show.
struct Pattern {
    private static let period = 251
    let block: [UInt8]

    /// - Parameter piece: the longest run that will be asked for.
    init(piece: Int) {
        block = (0..<piece + Self.period - 1).map { UInt8($0 % Self.period) }
    }

    /// The `count` bytes at that offset; they are not copied.
    func piece(at offset: Int64, count: Int) -> ArraySlice<UInt8> { block[place(of: offset, count: count)] }

    /// Where they stand in ``block``.
    func place(of offset: Int64, count: Int) -> Range<Int> {
        let start = Int(offset % Int64(Self.period))
        return start..<start + count
    }
}
