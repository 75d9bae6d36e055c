// SPDX-License-Identifier: Apache-2.0

#if canImport(Glibc)
    internal import Glibc
#elseif canImport(Darwin)
    internal import Darwin
#endif

/// Finds the end of a part of a multipart body. The input comes in pieces of any size.
///
/// A delimiter is a line break, two hyphens and the boundary. Bytes that could begin a delimiter are held back. Only
/// their number is stored, because ``pattern`` has the same bytes. A delimiter contains no other line break. So after a
/// mismatch, no other match can have begun earlier. Data without line breaks is scanned with memchr(3).
///
/// Source: RFC 2046 §5.1.1.
struct DelimiterScanner {
    /// The next piece of the body.
    enum Piece: Equatable {
        /// A range of the input with data.
        case data(Range<Int>)
        /// Data that was held back: the bytes in this range of ``pattern``.
        case heldBytes(Range<Int>)
        case delimiter
        /// All input was consumed. The next piece needs more input.
        case needsInput
    }

    private static let lineFeed = UInt8(ascii: "\n")
    private static let carriageReturn = UInt8(ascii: "\r")
    /// The length of the line break in the pattern.
    private static let breakCount = 2

    /// Carriage return, line feed and the start of the delimiter's line. In the input, the carriage return can be
    /// missing.
    let pattern: [UInt8]
    /// How many bytes of the pattern match the input before the next byte.
    private var matchedCount = breakCount
    /// After a mismatch, the held bytes from this index in the pattern on are data. At the start of a body, and of a
    /// part's data, this excludes the line break.
    private var heldStart = breakCount
    /// How many of the held bytes came with earlier input.
    private var earlierHeldCount = 0
    /// Whether a delimiter was found. The data before it is returned first.
    private var isAtDelimiter = false

    /// - Parameter line: the start of a delimiter's line.
    init(line: [UInt8]) {
        pattern = [Self.carriageReturn, Self.lineFeed] + line
    }

    /// Prepares for the start of a line.
    mutating func beginLine() {
        (matchedCount, heldStart, earlierHeldCount) = (Self.breakCount, Self.breakCount, 0)
    }

    /// Returns the next piece, and advances `position` past it.
    mutating func next(_ input: borrowing RawSpan, from position: inout Int) -> Piece {
        if isAtDelimiter {
            isAtDelimiter = false
            return .delimiter
        }
        let start = position
        var index = start
        while index < input.byteCount {
            if matchedCount == 0 {
                index = findBreak(in: input, from: index, dataFrom: start)
            } else if Self.byte(input, index) == pattern[matchedCount] {
                index += 1
                matchedCount += 1
                if matchedCount == pattern.count { return endPart(at: index, from: start, &position) }
            } else if earlierHeldCount > 0 {
                return .heldBytes(removeHeldBytes())
            } else {
                matchedCount = 0
            }
        }
        let newHeldCount = matchedCount == 0 ? 0 : matchedCount - heldStart - earlierHeldCount
        earlierHeldCount += newHeldCount
        position = input.byteCount
        let end = input.byteCount - newHeldCount
        return end > start ? .data(start..<end) : .needsInput
    }

    /// Discards the current match, because the body has ended, or the announced length of the part was reached.
    ///
    /// - Returns: the held bytes, which are data, as a range of ``pattern``. It can be empty.
    mutating func removeHeldBytes() -> Range<Int> {
        let range = heldStart..<heldStart + earlierHeldCount
        (matchedCount, heldStart, earlierHeldCount) = (0, 0, 0)
        return range
    }

    /// Whether the scanner has matched no more than the line break of a delimiter.
    var isBeforeLine: Bool { matchedCount <= Self.breakCount && !isAtDelimiter }

    /// Finds a line feed, and the carriage return before it. A carriage return at the end of the input can be a part of
    /// a line break, too.
    ///
    /// - Returns: the index at which to continue.
    private mutating func findBreak(in input: borrowing RawSpan, from index: Int, dataFrom start: Int) -> Int {
        guard let feed = Self.firstIndex(of: Self.lineFeed, in: input, from: index) else {
            if Self.byte(input, input.byteCount - 1) == Self.carriageReturn { (matchedCount, heldStart) = (1, 0) }
            return input.byteCount
        }
        let hasReturn = feed > start && Self.byte(input, feed - 1) == Self.carriageReturn
        (matchedCount, heldStart) = (Self.breakCount, hasReturn ? 0 : 1)
        return feed + 1
    }

    private mutating func endPart(at index: Int, from start: Int, _ position: inout Int) -> Piece {
        let end = index - (matchedCount - heldStart - earlierHeldCount)
        (matchedCount, heldStart, earlierHeldCount) = (0, 0, 0)
        position = index
        guard end > start else { return .delimiter }
        isAtDelimiter = true
        return .data(start..<end)
    }

    private static func byte(_ input: borrowing RawSpan, _ index: Int) -> UInt8 {
        unsafe input.unsafeLoad(fromByteOffset: index, as: UInt8.self)
    }

    static func firstIndex(of byte: UInt8, in input: borrowing RawSpan, from start: Int) -> Int? {
        unsafe input.withUnsafeBytes { bytes in
            guard start < bytes.count, let base = bytes.baseAddress else { return nil }
            guard let match = unsafe memchr(base + start, Int32(byte), bytes.count - start) else { return nil }
            return unsafe UnsafeRawPointer(match) - base
        }
    }
}
