// SPDX-License-Identifier: Apache-2.0

import PortolanFileSystem

/// Splits the bytes of a descriptor into lines.
struct StdioLineReader {
    enum Line: Equatable {
        /// A line without its line feed.
        case bytes([UInt8])
        /// A line above the limit, which is skipped.
        case tooLong
    }

    /// The longest accepted line, in bytes.
    static let defaultLimit = 1 << 30

    private let source: Descriptor
    private let limit: Int
    private var chunk: [UInt8]
    /// The part of `chunk` that was not returned yet.
    private var unreadRange = 0..<0

    init(_ source: Descriptor, limit: Int = defaultLimit, chunkSize: Int = 256 << 10) {
        self.source = source
        self.limit = limit
        chunk = [UInt8](repeating: 0, count: max(1, chunkSize))
    }

    /// Returns the next line, or `nil` at the end. The last line can be without a line feed.
    mutating func next() throws(SystemError) -> Line? {
        var line: [UInt8] = []
        var isTooLong = false
        while true {
            if unreadRange.isEmpty {
                unreadRange = 0..<(try source.read(into: &chunk))
                if unreadRange.isEmpty { return isTooLong ? .tooLong : line.isEmpty ? nil : .bytes(line) }
            }
            let end = chunk[unreadRange].firstIndex(of: 0x0A)
            let piece = unreadRange.lowerBound..<(end ?? unreadRange.upperBound)
            isTooLong = isTooLong || line.count + piece.count > limit
            if isTooLong { line = [] } else { line += chunk[piece] }
            unreadRange = (end.map { $0 + 1 } ?? unreadRange.upperBound)..<unreadRange.upperBound
            if end != nil { return isTooLong ? .tooLong : .bytes(line) }
        }
    }
}
