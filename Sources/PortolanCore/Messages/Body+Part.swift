// SPDX-License-Identifier: Apache-2.0

import Synchronization

extension Body {
    /// Returns a part of this body. This body must have a known length, and be readable more than once. If it is a
    /// regular file, the bytes before the part are not read.
    ///
    /// - Parameter range: within the body.
    package func part(_ range: Range<Int64>) -> Body {
        let isSuffix = range.upperBound == length
        return Body(length: Int64(range.count), isRewindable: true) { [self] () throws(LoadError) in
            let reader = try makeReader()
            guard let file = reader as? any FileBackedReader else {
                return PartReader(reader, skipping: range.lowerBound, Int64(range.count))
            }
            file.skip(range.lowerBound)
            return isSuffix ? file : PartReader(file, skipping: 0, Int64(range.count))
        }
    }
}

/// Reads some bytes of another reader.
private final class PartReader: BodyReader {
    private struct State {
        var skippedCount: Int64
        var count: Int64
    }

    private let next: any BodyReader
    private let state: Mutex<State>
    private static let pieceSize: Int64 = 64 << 10

    /// - Parameters:
    ///   - skippedCount: the number of bytes before the part.
    ///   - count: the number of bytes of the part.
    init(_ next: any BodyReader, skipping skippedCount: Int64, _ count: Int64) {
        self.next = next
        state = Mutex(State(skippedCount: skippedCount, count: count))
    }

    func read(into buffer: inout OutputRawSpan, whenReady: @escaping @Sendable () -> Void) -> BodyRead {
        while true {
            let (skippedCount, count) = state.withLock { ($0.skippedCount, $0.count) }
            guard skippedCount + count > 0 else { return .end }
            let limit = skippedCount > 0 ? min(skippedCount, Self.pieceSize) : min(count, Int64(buffer.freeCapacity), Self.pieceSize)
            var result = BodyRead.end
            let bytes = [UInt8](capacity: Int(limit)) { result = next.read(into: &$0, whenReady: whenReady) }
            if skippedCount > 0 {
                state.withLock { $0.skippedCount -= Int64(bytes.count) }
                guard case .bytes = result else { return result }
            } else {
                state.withLock { $0.count -= Int64(bytes.count) }
                unsafe bytes.withUnsafeBytes { unsafe buffer.append(contentsOf: $0) }
                return result
            }
        }
    }

    func close() { next.close() }
}
