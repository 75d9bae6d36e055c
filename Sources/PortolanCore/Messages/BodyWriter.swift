// SPDX-License-Identifier: Apache-2.0

import Synchronization

/// A body that the program writes while it is sent. A buffer of limited size is between the writer and the reader.
///
///     let pipe = BodyWriter()
///     async let response = loader.data(for: Request("template://echo", method: .put, body: pipe.body()))
///     try await pipe.write(bytes)
///     pipe.finish()
public final class BodyWriter: Sendable {
    private struct State {
        var buffer: [UInt8] = []
        /// The index of the first byte that was not read.
        var firstUnreadIndex = 0
        var end: Result<Void, LoadError>?
        var hasReader = false
        var isClosed = false
        /// Set while the reader waits for bytes.
        var whenReady: (@Sendable () -> Void)?
        var writers: [ObjectIdentifier: CheckedContinuation<Void, Never>] = [:]
        var yieldCounter = YieldCounter()

        var unreadByteCount: Int { buffer.count - firstUnreadIndex }
        var acceptsBytes: Bool { !isClosed && end == nil }

        mutating func removeWriters() -> [CheckedContinuation<Void, Never>] {
            defer { writers = [:] }
            return Array(writers.values)
        }
    }

    private let capacity: Int
    private let state = Mutex(State())

    /// - Parameter capacity: the number of unsent bytes at which ``write(_:)`` begins to wait.
    public init(capacity: Int = 64 << 10) {
        self.capacity = max(1, capacity)
    }

    /// The body to send. It can be read once.
    ///
    /// - Parameter length: the number of bytes, if it is known. If another number is written, the load fails.
    public func body(length: Int64? = nil) -> Body {
        Body(length: length, isRewindable: false, discard: close, open: openOnce)
    }

    @Sendable
    private func openOnce() throws(LoadError) -> any BodyReader {
        let isFirst = state.withLock { state in
            defer { state.hasReader = true }
            return !state.hasReader
        }
        guard isFirst else { throw LoadError(.bodyFailed, message: "a streamed body was requested twice, but can be read only once") }
        return PipeReader(pipe: self)
    }

    /// Appends bytes to the body. While the buffer is full, waits until bytes are sent. A writer that never has to wait
    /// yields to other tasks after every 16 pieces (`Task.yield()`).
    ///
    /// - Throws: ``LoadError/Code/cancelled`` if the load has ended, the body was finished before, or the calling task
    ///   was cancelled.
    public func write(_ bytes: [UInt8]) async throws(LoadError) {
        if state.withLock({ $0.yieldCounter.countStep() }) { await Task.yield() }
        let call = WriteCall()
        await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                let waits = state.withLock { state in
                    guard state.unreadByteCount >= capacity, state.acceptsBytes, !Task.isCancelled else { return false }
                    state.writers[ObjectIdentifier(call)] = continuation
                    state.yieldCounter.reset()
                    return true
                }
                if !waits { continuation.resume() }
            }
        } onCancel: {
            state.withLock { $0.writers.removeValue(forKey: ObjectIdentifier(call)) }?.resume()
        }
        guard !Task.isCancelled else { throw LoadError(.cancelled, message: "the task that writes the body was cancelled") }
        let whenReady: (@Sendable () -> Void)? = try state.withLock { state throws(LoadError) in
            guard state.acceptsBytes else {
                throw LoadError(.cancelled, message: "the body accepts no more bytes, because the load has ended or the body was finished")
            }
            state.buffer += bytes
            return state.whenReady.take()
        }
        whenReady?()
    }

    /// Ends the body.
    public func finish() { end(.success(())) }

    /// Ends the body with a failure, which fails the load.
    public func fail(_ error: LoadError) { end(.failure(error)) }

    private func end(_ end: Result<Void, LoadError>) {
        let (whenReady, writers) = state.withLock { state -> ((@Sendable () -> Void)?, [CheckedContinuation<Void, Never>]) in
            state.end = state.end ?? end
            return (state.whenReady.take(), state.removeWriters())
        }
        whenReady?()
        for writer in writers { writer.resume() }
    }

    /// Identifies a call of `write` that waits.
    private final class WriteCall: Sendable {}

    fileprivate func read(into buffer: inout OutputRawSpan, whenReady: @escaping @Sendable () -> Void) -> BodyRead {
        let (bytes, result, writers) = state.withLock { state -> ([UInt8], BodyRead, [CheckedContinuation<Void, Never>]) in
            let count = min(state.unreadByteCount, buffer.freeCapacity)
            guard count > 0 else {
                switch state.end {
                case .success: return ([], .end, [])
                case .failure(let error): return ([], .failed(error), [])
                case nil:
                    state.whenReady = whenReady
                    return ([], .wait, [])
                }
            }
            let bytes = Array(state.buffer[state.firstUnreadIndex..<state.firstUnreadIndex + count])
            state.firstUnreadIndex += count
            if state.firstUnreadIndex * 2 > state.buffer.count {
                state.buffer.removeFirst(state.firstUnreadIndex)
                state.firstUnreadIndex = 0
            }
            guard state.unreadByteCount < capacity else { return (bytes, .bytes, []) }
            return (bytes, .bytes, state.removeWriters())
        }
        unsafe bytes.withUnsafeBytes { unsafe buffer.append(contentsOf: $0) }
        for writer in writers { writer.resume() }
        return result
    }

    @Sendable
    fileprivate func close() {
        let writers = state.withLock { state in
            state.isClosed = true
            state.buffer = []
            state.firstUnreadIndex = 0
            state.whenReady = nil
            return state.removeWriters()
        }
        for writer in writers { writer.resume() }
    }
}

private final class PipeReader: BodyReader {
    private let pipe: BodyWriter

    init(pipe: BodyWriter) { self.pipe = pipe }
    deinit { pipe.close() }

    func read(into buffer: inout OutputRawSpan, whenReady: @escaping @Sendable () -> Void) -> BodyRead {
        pipe.read(into: &buffer, whenReady: whenReady)
    }

    func close() { pipe.close() }
}
