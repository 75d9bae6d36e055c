// SPDX-License-Identifier: Apache-2.0

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
    /// The unused part of the chunk.
    private var rest = 0..<0

    init(_ source: Descriptor, limit: Int = defaultLimit, chunkSize: Int = 256 << 10) {
        self.source = source
        self.limit = limit
        chunk = [UInt8](repeating: 0, count: max(1, chunkSize))
    }

    /// Returns the next line; the last one may lack its line feed. Returns `nil` at the end.
    mutating func next() throws(SystemError) -> Line? {
        var line: [UInt8] = []
        var isTooLong = false
        while true {
            if rest.isEmpty {
                rest = 0..<(try source.read(into: &chunk))
                if rest.isEmpty { return isTooLong ? .tooLong : line.isEmpty ? nil : .bytes(line) }
            }
            let end = chunk[rest].firstIndex(of: 0x0A)
            let piece = rest.lowerBound..<(end ?? rest.upperBound)
            isTooLong = isTooLong || line.count + piece.count > limit
            if isTooLong { line = [] } else { line += chunk[piece] }
            rest = (end.map { $0 + 1 } ?? rest.upperBound)..<rest.upperBound
            if end != nil { return isTooLong ? .tooLong : .bytes(line) }
        }
    }
}
