// SPDX-License-Identifier: Apache-2.0

import Synchronization

/// A body that is written while it is sent. A bounded buffer connects the writer and the reader.
///
///     let pipe = BodyWriter()
///     async let response = loader.data(for: Request("template://echo", method: .put, body: pipe.body()))
///     try await pipe.write(bytes)
///     pipe.finish()
public final class BodyWriter: Sendable {
    private struct State {
        var buffer: [UInt8] = []
        /// The first byte that was not read.
        var first = 0
        var end: Result<Void, LoadError>?
        var isTaken = false
        var isClosed = false
        var reader: (@Sendable () -> Void)?
        var writers: [ObjectIdentifier: CheckedContinuation<Void, Never>] = [:]
        var busySteps = YieldCounter()

        var count: Int { buffer.count - first }
        var takesBytes: Bool { !isClosed && end == nil }

        mutating func takeWriters() -> [CheckedContinuation<Void, Never>] {
            defer { writers = [:] }
            return Array(writers.values)
        }
    }

    private let capacity: Int
    private let state = Mutex(State())

    /// - Parameter capacity: how many bytes may wait to be sent before ``write(_:)`` waits.
    public init(capacity: Int = 64 << 10) {
        self.capacity = max(1, capacity)
    }

    /// The body to send. It can be read once.
    ///
    /// - Parameter length: in bytes, if it is known; the load fails if a different number is written.
    public func body(length: Int64? = nil) -> Body {
        Body(length: length, isRewindable: false, discard: close, open: openOnce)
    }

    @Sendable
    private func openOnce() throws(LoadError) -> any BodyReader {
        let isFirst = state.withLock { state in
            defer { state.isTaken = true }
            return !state.isTaken
        }
        guard isFirst else { throw LoadError(.bodyFailed, message: "a streamed body was requested twice, but can be read only once") }
        return PipeReader(pipe: self)
    }

    /// Adds bytes to the body, when there is room for them. A writer that never has to wait yields to other tasks after
    /// every 16 pieces (`Task.yield()`).
    ///
    /// - Throws: ``LoadError/Code/cancelled`` if the body is no longer read, or was ended before.
    public func write(_ bytes: [UInt8]) async throws(LoadError) {
        if state.withLock({ $0.busySteps.next() }) { await Task.yield() }
        let ticket = Ticket()
        await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                let waits = state.withLock { state in
                    guard state.count >= capacity, state.takesBytes, !Task.isCancelled else { return false }
                    state.writers[ObjectIdentifier(ticket)] = continuation
                    state.busySteps.suspended()
                    return true
                }
                if !waits { continuation.resume() }
            }
        } onCancel: {
            state.withLock { $0.writers.removeValue(forKey: ObjectIdentifier(ticket)) }?.resume()
        }
        guard !Task.isCancelled else { throw LoadError(.cancelled, message: "the task that writes the body was cancelled") }
        let reader: (@Sendable () -> Void)? = try state.withLock { state throws(LoadError) in
            guard state.takesBytes else {
                throw LoadError(.cancelled, message: "the body accepts no more bytes, because the load has ended or the body was finished")
            }
            state.buffer += bytes
            defer { state.reader = nil }
            return state.reader
        }
        reader?()
    }

    /// Ends the body.
    public func finish() { end(.success(())) }

    /// Ends the body with a failure, which fails the load.
    public func fail(_ error: LoadError) { end(.failure(error)) }

    private func end(_ end: Result<Void, LoadError>) {
        let (reader, writers) = state.withLock { state -> ((@Sendable () -> Void)?, [CheckedContinuation<Void, Never>]) in
            state.end = state.end ?? end
            defer { state.reader = nil }
            return (state.reader, state.takeWriters())
        }
        reader?()
        for writer in writers { writer.resume() }
    }

    /// A call of `write` that waits.
    private final class Ticket: Sendable {}

    fileprivate func read(into buffer: inout OutputRawSpan, whenReady: @escaping @Sendable () -> Void) -> BodyRead {
        let (bytes, answer, writers) = state.withLock { state -> ([UInt8], BodyRead, [CheckedContinuation<Void, Never>]) in
            let count = min(state.count, buffer.freeCapacity)
            guard count > 0 else {
                switch state.end {
                case .success: return ([], .end, [])
                case .failure(let error): return ([], .failed(error), [])
                case nil:
                    state.reader = whenReady
                    return ([], .wait, [])
                }
            }
            let bytes = Array(state.buffer[state.first..<state.first + count])
            state.first += count
            if state.first * 2 > state.buffer.count {
                state.buffer.removeFirst(state.first)
                state.first = 0
            }
            guard state.count < capacity else { return (bytes, .bytes, []) }
            return (bytes, .bytes, state.takeWriters())
        }
        unsafe bytes.withUnsafeBytes { unsafe buffer.append(contentsOf: $0) }
        for writer in writers { writer.resume() }
        return answer
    }

    @Sendable
    fileprivate func close() {
        let writers = state.withLock { state in
            state.isClosed = true
            state.buffer = []
            state.first = 0
            state.reader = nil
            return state.takeWriters()
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
