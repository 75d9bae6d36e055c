// SPDX-License-Identifier: Apache-2.0

#if canImport(Glibc)
    internal import Glibc
#elseif canImport(Darwin)
    internal import Darwin
#endif

/// Finds the end of a part of a multipart body, in input that is split anywhere.
///
/// A delimiter is a line break, two hyphens and the boundary. The line break belongs to the delimiter, and the line may
/// continue. Bytes that could begin a delimiter are held back. They are stored as a count, because their values are
/// known, so nothing is copied. A line break is only at the start of a delimiter. So when a match breaks off, no other
/// match has begun before the byte that does not fit. Data without line breaks passes at the speed of memchr(3).
///
/// Source: RFC 2046 §5.1.1.
struct DelimiterScanner {
    /// The next piece of the body.
    enum Piece: Equatable {
        /// Data: this range of the input.
        case data(Range<Int>)
        /// Data that was held back: this range of ``pattern``.
        case held(Range<Int>)
        case delimiter
        /// All input was consumed.
        case needsInput
    }

    private static let lineFeed = UInt8(ascii: "\n")
    private static let carriageReturn = UInt8(ascii: "\r")
    /// The length of the line break in the pattern.
    private static let breakCount = 2

    /// Carriage return, line feed and the start of the line. The carriage return may be missing in the input.
    let pattern: [UInt8]
    /// How much of the pattern matches just before the next byte; 0 if nothing does.
    private var matched = breakCount
    /// Where in the pattern the bytes begin that are data if the match breaks off. At the start of a body, and of a
    /// part's data, the line break came before them.
    private var heldFrom = breakCount
    /// How many of these bytes came with earlier input.
    private var carried = 0
    /// The delimiter was found, and the data before it is returned first.
    private var isAtDelimiter = false

    /// - Parameter line: the start of a delimiter's line.
    init(line: [UInt8]) {
        pattern = [Self.carriageReturn, Self.lineFeed] + line
    }

    /// Prepares for a next byte that is the first of a line.
    mutating func beginLine() {
        (matched, heldFrom, carried) = (Self.breakCount, Self.breakCount, 0)
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
            if matched == 0 {
                index = findBreak(in: input, from: index, dataFrom: start)
            } else if Self.byte(input, index) == pattern[matched] {
                index += 1
                matched += 1
                if matched == pattern.count { return endPart(at: index, from: start, &position) }
            } else if carried > 0 {
                return .held(takeHeld())
            } else {
                matched = 0
            }
        }
        let heldHere = matched == 0 ? 0 : matched - heldFrom - carried
        carried += heldHere
        position = input.byteCount
        let end = input.byteCount - heldHere
        return end > start ? .data(start..<end) : .needsInput
    }

    /// Ends the body, or the data that its sender announced.
    ///
    /// - Returns: the data that was held back, as ``Piece/held(_:)``. Empty if there was none.
    mutating func takeHeld() -> Range<Int> {
        let held = heldFrom..<heldFrom + carried
        (matched, heldFrom, carried) = (0, 0, 0)
        return held
    }

    /// Whether at most the line break of a delimiter has matched.
    var isBeforeLine: Bool { matched <= Self.breakCount && !isAtDelimiter }

    /// Looks for a line feed and the carriage return before it. A carriage return may also be the last byte of the
    /// input.
    ///
    /// - Returns: the index at which to continue.
    private mutating func findBreak(in input: borrowing RawSpan, from index: Int, dataFrom start: Int) -> Int {
        guard let feed = Self.firstIndex(of: Self.lineFeed, in: input, from: index) else {
            if Self.byte(input, input.byteCount - 1) == Self.carriageReturn { (matched, heldFrom) = (1, 0) }
            return input.byteCount
        }
        let hasReturn = feed > start && Self.byte(input, feed - 1) == Self.carriageReturn
        (matched, heldFrom) = (Self.breakCount, hasReturn ? 0 : 1)
        return feed + 1
    }

    private mutating func endPart(at index: Int, from start: Int, _ position: inout Int) -> Piece {
        let end = index - (matched - heldFrom - carried)
        (matched, heldFrom, carried) = (0, 0, 0)
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
            guard let found = unsafe memchr(base + start, Int32(byte), bytes.count - start) else { return nil }
            return unsafe UnsafeRawPointer(found) - base
        }
    }
}
