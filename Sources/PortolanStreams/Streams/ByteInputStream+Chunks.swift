// SPDX-License-Identifier: Apache-2.0

public import PortolanCore

extension ByteInputStream {
    /// The bytes as a sequence of pieces. The task waits without holding a thread. If it is cancelled, the stream is
    /// closed, and the sequence throws `LoadError.Code.cancelled`.
    ///
    ///     for try await chunk in input.chunks() { digest.update(chunk) }
    ///
    /// Several iterators of a stream share its bytes.
    ///
    /// - Parameter size: the maximum number of bytes of a piece, at most 1 MiB.
    public func chunks(ofAtMost size: Int = 64 << 10) -> ChunkSequence { ChunkSequence(stream: self, size: min(max(size, 1), 1 << 20)) }

    public struct ChunkSequence: AsyncSequence, Sendable {
        fileprivate let stream: ByteInputStream
        fileprivate let size: Int

        public struct AsyncIterator: AsyncIteratorProtocol {
            fileprivate let stream: ByteInputStream
            fileprivate let size: Int

            /// - Throws: the error of the stream, as ``ByteInputStream/read(into:)``; `LoadError.Code.cancelled`
            public mutating func next(isolation actor: isolated (any Actor)? = #isolation) async throws(LoadError) -> [UInt8]? {
                try await stream.nextChunk(atMost: size)
            }
        }

        public func makeAsyncIterator() -> AsyncIterator { AsyncIterator(stream: stream, size: size) }
    }

    private func nextChunk(atMost size: Int) async throws(LoadError) -> [UInt8]? {
        while true {
            try core.closeIfTaskIsCancelled()
            let chunk =
                core.isOnDisk ? try await onDiskThread { self.availableChunk(atMost: size) }.get() : try availableChunk(atMost: size).get()
            if let chunk { return chunk.isEmpty ? nil : chunk }
            try await core.waitUntilReady()
        }
    }

    /// - Returns: the bytes, none at the end; `nil` if no bytes are available.
    private func availableChunk(atMost size: Int) -> Result<[UInt8]?, LoadError> {
        Result { () throws(LoadError) in
            var isEmptyForNow = false
            let chunk = try [UInt8](capacity: size) { buffer throws(LoadError) in isEmptyForNow = try readAvailable(into: &buffer) == nil }
            return isEmptyForNow ? nil : chunk
        }
    }
}

extension ByteOutputStream {
    /// Writes all bytes. The task waits for space without holding a thread. If it is cancelled, the stream is closed
    /// without the end of the bytes, as if it had been released.
    ///
    /// - Throws: the error of the sink; `LoadError.Code.streamNotOpen`; `LoadError.Code.streamInUse` if the stream
    ///   reports events, or another task waits; `LoadError.Code.cancelled`. Some of the bytes may have been written.
    public func write(_ bytes: [UInt8]) async throws(LoadError) {
        if let refusal = core.refusal { throw refusal }
        var count = 0
        while count < bytes.count {
            try core.closeIfTaskIsCancelled()
            let start = count
            let written =
                core.isOnDisk ? try await onDiskThread { self.written(bytes, from: start) }.get() : try written(bytes, from: start).get()
            if let written { count += written } else { try await core.waitUntilReady() }
        }
    }

    private func written(_ bytes: [UInt8], from start: Int) -> Result<Int?, LoadError> {
        Result { () throws(LoadError) in try writeAvailable(unsafe bytes.span.bytes.extracting(droppingFirst: start)) }
    }
}

/// Calls `body` on a thread that may wait for a disk.
private func onDiskThread<Value: Sendable>(_ body: @escaping @Sendable () -> Value) async -> Value {
    await withCheckedContinuation { continuation in DeliveryThreads.shared.run { continuation.resume(returning: body()) } }
}
