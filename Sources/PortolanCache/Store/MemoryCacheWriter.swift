// SPDX-License-Identifier: Apache-2.0

import HTTPTypes
import PortolanCore
import Synchronization

/// Collects a body in pieces of equal size, so that a large body is never copied to a larger buffer.
final class MemoryCacheWriter: CacheWriter {
    static let pieceSize = 64 << 10

    private struct State {
        var pieces: [MemoryCacheBody.Piece] = []
        /// The last piece, which is not full yet.
        var last: [UInt8] = []
        var position: Int64
        var isEnded = false

        mutating func append(_ octets: UnsafeRawBufferPointer, expectedCount: Int) {
            var rest = unsafe octets[...]
            while unsafe !rest.isEmpty {
                if last.isEmpty { last.reserveCapacity(min(pieceSize, max(unsafe rest.count, expectedCount))) }
                let count = min(pieceSize - last.count, unsafe rest.count)
                unsafe last.append(contentsOf: rest.prefix(count))
                unsafe rest = rest.dropFirst(count)
                if last.count == pieceSize { endPiece() }
            }
        }

        mutating func endPiece() {
            if last.isEmpty { return }
            var octets = last
            if last.capacity > last.count + last.count / 4 + 64 {
                // A short piece gives back the memory that it does not need.
                octets = []
                octets.reserveCapacity(last.count)
                octets.append(contentsOf: last)
            }
            pieces.append(MemoryCacheBody.Piece(start: position, octets: octets))
            position += Int64(octets.count)
            last = []
        }
    }

    private let store: MemoryCacheStore
    private let id: MemoryCacheState.WriterID
    private let expectedCount: Int
    private let state: Mutex<State>

    init(_ store: MemoryCacheStore, _ id: MemoryCacheState.WriterID, _ opening: CacheOpening) {
        (self.store, self.id) = (store, id)
        expectedCount = Int(clamping: opening.expectedLength ?? 0)
        state = Mutex(State(position: opening.position))
    }

    deinit { discard() }

    func write(_ bytes: borrowing RawSpan) -> Bool {
        let count = bytes.byteCount
        if state.withLock({ $0.isEnded }) { return false }
        guard store.reserve(count, for: id) else {
            discard()
            return false
        }
        unsafe bytes.withUnsafeBytes { octets in
            state.withLock { state in
                if !state.isEnded { unsafe state.append(octets, expectedCount: expectedCount) }
            }
        }
        return true
    }

    func finish(_ stored: StoredResponse, trailers: HTTPFields?) {
        guard let pieces = end() else { return }
        store.finish(id, pieces, stored, trailers: trailers)
    }

    func discard() {
        if end() != nil { store.discard(id) }
    }

    /// - Returns: `nil` if the writer has ended before.
    private func end() -> [MemoryCacheBody.Piece]? {
        state.withLock { state in
            guard !state.isEnded else { return nil }
            state.isEnded = true
            state.endPiece()
            defer { state.pieces = [] }
            return state.pieces
        }
    }
}
