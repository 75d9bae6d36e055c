// SPDX-License-Identifier: Apache-2.0

import PortolanCore
import Synchronization

/// A body in memory, in pieces that never change.
package final class MemoryCacheBody: CacheBody {
    package struct Piece: Sendable {
        /// The position of the first octet in the representation.
        package let start: Int64
        package let octets: [UInt8]

        package init(start: Int64, octets: [UInt8]) { (self.start, self.octets) = (start, octets) }

        var range: Range<Int64> { start..<start + Int64(octets.count) }
    }

    /// Sorted. They do not overlap, and none is empty.
    package let pieces: [Piece]
    package let ranges: ByteRangeSet
    package let byteCount: Int

    /// - Parameter pieces: sorted, without overlaps and empty pieces.
    package init(_ pieces: [Piece]) {
        self.pieces = pieces
        var ranges = ByteRangeSet()
        for piece in pieces { ranges.insert(piece.range) }
        self.ranges = ranges
        byteCount = pieces.reduce(0) { $0 + $1.octets.count }
    }

    /// Returns this body with newer pieces, which replace the octets at the same positions.
    ///
    /// - Parameter newer: sorted, without overlaps and gaps.
    package func extended(by newer: [Piece]) -> MemoryCacheBody {
        guard let first = newer.first, let last = newer.last else { return self }
        let (start, end) = (first.start, last.range.upperBound)
        let before = pieces.compactMap { Self.clipped($0, to: 0..<start) }
        let after = pieces.compactMap { Self.clipped($0, to: end..<Int64.max) }
        return MemoryCacheBody(before + newer + after)
    }

    /// The octets of a piece in a range. A clipped piece is a copy, so that it does not keep the whole piece alive.
    private static func clipped(_ piece: Piece, to range: Range<Int64>) -> Piece? {
        let common = piece.range.clamped(to: range)
        if common.isEmpty { return nil }
        if common == piece.range { return piece }
        let octets = piece.octets[Int(common.lowerBound - piece.start)..<Int(common.upperBound - piece.start)]
        return Piece(start: common.lowerBound, octets: Array(octets))
    }

    package func makeReader(of range: Range<Int64>) -> any CacheBodyReader { Reader(self, range) }

    /// The index of the piece with the octet at a position; `nil` for none.
    private func index(ofPieceAt position: Int64) -> Int? {
        var (low, high) = (0, pieces.count)
        while low < high {
            let middle = (low + high) / 2
            if pieces[middle].range.upperBound <= position { low = middle + 1 } else { high = middle }
        }
        return low < pieces.count && pieces[low].range.contains(position) ? low : nil
    }

    private final class Reader: CacheBodyReader {
        private let body: MemoryCacheBody
        private let end: Int64
        private let position: Mutex<Int64>

        init(_ body: MemoryCacheBody, _ range: Range<Int64>) {
            (self.body, end) = (body, range.upperBound)
            position = Mutex(range.lowerBound)
        }

        func read(
            atMost limit: Int, _ receive: (borrowing RawSpan) -> Void, whenReady: @escaping @Sendable () -> Void
        ) -> BodyRead {
            let start = position.withLock { $0 }
            guard start < end else { return .end }
            guard let index = body.index(ofPieceAt: start) else {
                return .failed(LoadError(.ioFailed, message: "the stored response has no byte \(start); load it from its source"))
            }
            let piece = body.pieces[index]
            let offset = Int(start - piece.start)
            let count = Int(min(Int64(piece.octets.count - offset), end - start, Int64(limit)))
            position.withLock { $0 = start + Int64(count) }
            let octets = piece.octets.span.extracting(offset..<offset + count)
            unsafe receive(octets.bytes)
            return .bytes
        }

        func close() {}
    }
}
