// SPDX-License-Identifier: Apache-2.0

#if canImport(Glibc)
    internal import Glibc
#elseif canImport(Darwin)
    internal import Darwin
#endif

/// Finds where a part of a multipart body ends, in input that is cut anywhere.
///
/// A delimiter is a line break, which belongs to it, two hyphens and the boundary; the line may go on. Bytes that could begin one are
/// held back, and as they are known, as a count: nothing is copied. A line break is only at a delimiter's start, so where one breaks off,
/// no other has begun before the byte that does not fit. Data without line breaks pass at the speed of memchr(3).
///
/// Source: RFC 2046 §5.1.1.
struct DelimiterScanner {
    /// What comes next in the body.
    enum Piece: Equatable {
        /// Data: this range of the input.
        case data(Range<Int>)
        /// Data that were held back: this range of ``pattern``.
        case held(Range<Int>)
        case delimiter
        /// All input was taken.
        case needsInput
    }

    private static let lineFeed = UInt8(ascii: "\n")
    private static let carriageReturn = UInt8(ascii: "\r")
    /// How much of the pattern the line break is.
    private static let breakCount = 2

    /// Carriage return, line feed and what the line begins with. The first of them may be missing.
    let pattern: [UInt8]
    /// Up to where the pattern was found, just before the next byte; 0: nothing of it.
    private var matched = breakCount
    /// Where in the pattern the bytes begin that are data if the rest does not follow. At the start of a body, and of a part's data, the
    /// line break came before them.
    private var heldFrom = breakCount
    /// How many of those came with earlier input.
    private var carried = 0
    /// The delimiter was found, and the data before it are given first.
    private var isAtDelimiter = false

    /// - Parameter line: what a delimiter's line begins with.
    init(line: [UInt8]) {
        pattern = [Self.carriageReturn, Self.lineFeed] + line
    }

    /// The next byte is the first of a line.
    mutating func beginLine() {
        (matched, heldFrom, carried) = (Self.breakCount, Self.breakCount, 0)
    }

    /// Reads on, and moves `position` past what the answer stands for.
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

    /// The body is over, or what it holds by the word of its sender.
    ///
    /// - Returns: what was held back, as ``Piece/held(_:)``; it is data. Empty where nothing was.
    mutating func takeHeld() -> Range<Int> {
        let held = heldFrom..<heldFrom + carried
        (matched, heldFrom, carried) = (0, 0, 0)
        return held
    }

    /// Whether nothing more of a delimiter than its line break has come.
    var isBeforeLine: Bool { matched <= Self.breakCount && !isAtDelimiter }

    /// Looks for a line feed, and for the carriage return before it, which may be the last byte there is.
    ///
    /// - Returns: where to go on.
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
