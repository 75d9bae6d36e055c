// SPDX-License-Identifier: Apache-2.0

#if Persistence
    import HTTPTypes
    import PortolanCache
    import PortolanCore
    import Synchronization

    /// Collects the octets of a body in blocks, and passes each full block to the writing thread.
    final class DiskCacheWriter: CacheWriter {
        private struct State {
            var block: [UInt8] = []
            var count: Int64 = 0
            var isEnded = false
        }

        private let core: DiskCacheCore
        private let number: DiskCacheCore.WriterNumber
        private let opening: CacheOpening
        private let openingTime = MonotonicTime.nanoseconds
        private let state = Mutex(State())

        init(_ core: DiskCacheCore, _ number: DiskCacheCore.WriterNumber, _ opening: CacheOpening) {
            (self.core, self.number, self.opening) = (core, number, opening)
        }

        deinit { discard() }

        func write(_ bytes: borrowing RawSpan) -> Bool {
            let count = Int64(bytes.byteCount)
            let isAccepted = unsafe bytes.withUnsafeBytes { octets in
                state.withLock { state in
                    guard !state.isEnded, !core.isCancelled(number), count <= core.entryLimit - state.count else { return false }
                    state.count += count
                    return unsafe append(octets, &state)
                }
            }
            if !isAccepted { discard() }
            return isAccepted
        }

        private func append(_ octets: UnsafeRawBufferPointer, _ state: inout State) -> Bool {
            var rest = unsafe octets[...]
            while unsafe !rest.isEmpty {
                if state.block.isEmpty {
                    // `state.count` includes the rest of these octets already.
                    let expected = unsafe Int(clamping: (opening.expectedLength ?? 0) - state.count) + rest.count
                    state.block.reserveCapacity(min(BodyLayout.blockSize, max(unsafe rest.count, expected)))
                }
                let count = min(BodyLayout.blockSize - state.block.count, unsafe rest.count)
                unsafe state.block.append(contentsOf: rest.prefix(count))
                unsafe rest = rest.dropFirst(count)
                guard state.block.count == BodyLayout.blockSize else { continue }
                guard core.write(state.block, number, opening) else { return false }
                state.block = []
            }
            return true
        }

        func finish(_ stored: StoredResponse, trailers: HTTPFields?) {
            let last: (octets: [UInt8], count: Int64)? = end()
            guard let last else { return }
            defer { core.writerDidEnd() }
            core.finish(
                FinishedBody(
                    opening: opening, openingTime: openingTime, octets: last.octets, count: last.count, stored: stored, trailers: trailers),
                number, isSmall: last.count <= BodyBuilder.smallLimit && opening.extended == nil)
        }

        func discard() {
            guard end() != nil else { return }
            core.discard(number)
            core.writerDidEnd()
        }

        /// - Returns: the octets that were not passed on, and the number of all octets; `nil` if the writer has ended
        ///   before.
        private func end() -> (octets: [UInt8], count: Int64)? {
            state.withLock { state in
                guard !state.isEnded else { return nil }
                state.isEnded = true
                defer { state.block = [] }
                return (state.block, state.count)
            }
        }
    }
#endif
