// SPDX-License-Identifier: Apache-2.0

import Glibc

/// Cuts bytes into lines, however they come in pieces.
///
/// A line that lies in one piece is a range of it; one that is spread over several is put together, up to the limit. A line ends with LF;
/// one CR before that belongs to the end (RFC 9112 §2.2).
struct LineReader {
    enum Line {
        /// Where the line lies in the input.
        case inInput(Range<Int>)
        /// The line was put together from several pieces.
        case assembled([UInt8])
    }

    private var pending: [UInt8] = []

    /// Whether a line has begun and not ended.
    var isWithinLine: Bool { !pending.isEmpty }

    /// How many bytes there are of a line that has not ended.
    var unfinishedCount: Int { pending.count }

    /// Takes the next line, without its end, from `offset` on; nil when all bytes are taken and it is not complete.
    ///
    /// - Parameters:
    ///   - limit: how many bytes the line may have.
    ///   - rule: which rule a longer line breaks. It does as soon as that many bytes are there, whether it has ended or not.
    @inline(__always)
    mutating func next(
        in input: Span<UInt8>, from offset: inout Int, atMost limit: Int, orBreak rule: ResponseSyntaxError.Rule
    ) throws(ResponseSyntaxError) -> Line? {
        let start = offset
        guard let lineFeed = Self.firstLineFeed(in: input, from: start) else {
            guard start < input.count else { return nil }
            let endsInReturn = input[input.count - 1] == .carriageReturn
            guard pending.count + input.count - start - (endsInReturn ? 1 : 0) <= limit else { throw ResponseSyntaxError(rule) }
            append(input.extracting(start...))
            offset = input.count
            return nil
        }
        offset = lineFeed + 1
        guard pending.isEmpty else { return try .assembled(assemble(input.extracting(start..<lineFeed), atMost: limit, orBreak: rule)) }
        let end = lineFeed > start && input[lineFeed - 1] == .carriageReturn ? lineFeed - 1 : lineFeed
        guard end - start <= limit else { throw ResponseSyntaxError(rule) }
        return .inInput(start..<end)
    }

    private mutating func assemble(
        _ rest: Span<UInt8>, atMost limit: Int, orBreak rule: ResponseSyntaxError.Rule
    ) throws(ResponseSyntaxError) -> [UInt8] {
        guard pending.count + rest.count - 1 <= limit else { throw ResponseSyntaxError(rule) }
        append(rest)
        var line = pending
        pending = []
        if line.last == .carriageReturn { line.removeLast() }
        guard line.count <= limit else { throw ResponseSyntaxError(rule) }
        return line
    }

    private mutating func append(_ octets: Span<UInt8>) {
        unsafe octets.withUnsafeBufferPointer { unsafe pending.append(contentsOf: $0) }
    }

    @inline(__always)
    private static func firstLineFeed(in input: Span<UInt8>, from start: Int) -> Int? {
        guard start < input.count else { return nil }
        return unsafe input.withUnsafeBytes { bytes in
            guard let base = bytes.baseAddress, let found = unsafe memchr(base + start, 0x0A, bytes.count - start) else { return nil }
            return unsafe UnsafeRawPointer(found) - base
        }
    }
}
