// SPDX-License-Identifier: Apache-2.0

/// A prefix code, defined by the lengths of its symbols' codes.
///
/// Source: RFC 1951, section 3.2.2.
struct PrefixCode {
    /// The number of codes of each length, from 0 to 15.
    private var counts = [Int](repeating: 0, count: 16)
    /// The symbols, sorted by code length, then by value.
    private var symbols: [Int] = []

    /// Returns `nil` if there is no prefix code with these lengths, or if it is incomplete. Only a code with one symbol
    /// of one bit, or without symbols, may be incomplete.
    init?(lengths: [Int]) {
        for length in lengths { counts[length] += 1 }
        var unassignedCodes = 1
        for length in 1...15 {
            unassignedCodes = unassignedCodes * 2 - counts[length]
            if unassignedCodes < 0 { return nil }
        }
        let isEmpty = counts[0] == lengths.count
        let isSingle = counts[1] == 1 && counts[0] == lengths.count - 1
        guard unassignedCodes == 0 || isEmpty || isSingle else { return nil }
        symbols = (1...15).flatMap { length in lengths.indices.filter { lengths[$0] == length } }
    }

    /// - Throws: ``GzipStop/malformed`` for bits that are no code.
    func read(_ bits: inout BitReader) throws(GzipStop) -> Int {
        var (code, firstCode, index) = (0, 0, 0)
        for length in 1...15 {
            code |= try bits.bits(1)
            let count = counts[length]
            if code - count < firstCode { return symbols[index + code - firstCode] }
            index += count
            (firstCode, code) = ((firstCode + count) * 2, code * 2)
            if index == symbols.count { break }  // because no code is longer
        }
        throw .malformed
    }
}
