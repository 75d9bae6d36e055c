// SPDX-License-Identifier: Apache-2.0

import Glibc

/// Splits the input into lines. The input comes in pieces of any size.
///
/// A line within one piece is returned as a range of the input. A line that spans several pieces is copied. LF ends a
/// line, and so does CR LF (RFC 9112 §2.2).
struct LineReader {
    enum Line {
        /// The range of the line in the input.
        case inInput(Range<Int>)
        /// A copy of a line that spans several pieces.
        case assembled([UInt8])
    }

    /// The first bytes of a line that has not ended.
    private var pendingBytes: [UInt8] = []

    /// Whether a line has begun and not ended.
    var isWithinLine: Bool { !pendingBytes.isEmpty }

    /// The number of buffered bytes of a line that has not ended.
    var unfinishedCount: Int { pendingBytes.count }

    /// Reads the next line from `offset` on, and returns it without its end. Returns `nil` if all input was consumed
    /// and the line is incomplete.
    ///
    /// - Parameters:
    ///   - limit: the maximum number of bytes of the line.
    ///   - rule: the rule that a longer line breaks. The error is thrown as soon as more than `limit` bytes have
    ///     arrived, even if the line has not ended.
    @inline(__always)
    mutating func next(
        in input: Span<UInt8>, from offset: inout Int, atMost limit: Int, orThrow rule: ResponseSyntaxError.Rule
    ) throws(ResponseSyntaxError) -> Line? {
        let start = offset
        guard let lineFeed = Self.firstLineFeed(in: input, from: start) else {
            guard start < input.count else { return nil }
            let endsInReturn = input[input.count - 1] == .carriageReturn
            guard pendingBytes.count + input.count - start - (endsInReturn ? 1 : 0) <= limit else { throw ResponseSyntaxError(rule) }
            append(input.extracting(start...))
            offset = input.count
            return nil
        }
        offset = lineFeed + 1
        guard pendingBytes.isEmpty else {
            return try .assembled(assemble(input.extracting(start..<lineFeed), atMost: limit, orThrow: rule))
        }
        let end = lineFeed > start && input[lineFeed - 1] == .carriageReturn ? lineFeed - 1 : lineFeed
        guard end - start <= limit else { throw ResponseSyntaxError(rule) }
        return .inInput(start..<end)
    }

    private mutating func assemble(
        _ rest: Span<UInt8>, atMost limit: Int, orThrow rule: ResponseSyntaxError.Rule
    ) throws(ResponseSyntaxError) -> [UInt8] {
        guard pendingBytes.count + rest.count - 1 <= limit else { throw ResponseSyntaxError(rule) }
        append(rest)
        var line = pendingBytes
        pendingBytes = []
        if line.last == .carriageReturn { line.removeLast() }
        guard line.count <= limit else { throw ResponseSyntaxError(rule) }
        return line
    }

    private mutating func append(_ octets: Span<UInt8>) {
        unsafe octets.withUnsafeBufferPointer { unsafe pendingBytes.append(contentsOf: $0) }
    }

    @inline(__always)
    private static func firstLineFeed(in input: Span<UInt8>, from start: Int) -> Int? {
        guard start < input.count else { return nil }
        return unsafe input.withUnsafeBytes { bytes in
            guard let base = bytes.baseAddress, let match = unsafe memchr(base + start, 0x0A, bytes.count - start) else { return nil }
            return unsafe UnsafeRawPointer(match) - base
        }
    }
}
