// SPDX-License-Identifier: Apache-2.0

import PortolanCore

/// Splits a text that arrives in pieces into lines, which end with LF or CRLF. A pure state machine.
struct LineSplitter {
    /// The maximum number of bytes of a line, without its line break.
    let limit: Int
    private var rest: [UInt8] = []
    /// The error for a line that was too long. Nothing is read after that line.
    private(set) var failure: LoadError?

    init(limit: Int) { self.limit = limit }

    /// Appends a piece, and returns the lines that are complete now, without their line breaks. These can be lines
    /// before one that sets ``failure``.
    mutating func append(_ piece: [UInt8]) -> [[UInt8]] {
        var lines: [[UInt8]] = []
        guard failure == nil else { return lines }
        do throws(LoadError) {
            try append(piece, &lines)
        } catch {
            failure = error
        }
        return lines
    }

    private mutating func append(_ piece: [UInt8], _ lines: inout [[UInt8]]) throws(LoadError) {
        var start = 0
        while let end = piece[start...].firstIndex(of: UInt8(ascii: "\n")) {
            rest += piece[start..<end]
            start = end + 1
            lines.append(try takeLine())
        }
        rest += piece[start...]
        // One byte more, because a CR can be the start of the line break.
        guard rest.count <= limit || (rest.count == limit + 1 && rest.last == UInt8(ascii: "\r")) else { throw tooLongError }
    }

    /// Returns the last line, if it has no line break; otherwise `nil`.
    mutating func finish() throws(LoadError) -> [UInt8]? {
        rest.isEmpty ? nil : try takeLine()
    }

    private mutating func takeLine() throws(LoadError) -> [UInt8] {
        defer { rest = [] }
        if rest.last == UInt8(ascii: "\r") { rest.removeLast() }
        guard rest.count <= limit else { throw tooLongError }
        return rest
    }

    private var tooLongError: LoadError {
        LoadError(.limitExceeded, message: "a line has more than \(limit) bytes; raise maximumLineSize to allow more")
    }
}
