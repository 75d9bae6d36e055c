// SPDX-License-Identifier: Apache-2.0

import PortolanCore
import Synchronization

extension ByteInputStream {
    /// Makes two streams: what is written to the output can be read from the input.
    ///
    /// When the buffer is full, a write waits until bytes are read. When the output is closed, the input ends behind
    /// the last byte. If the output is released without ``ByteOutputStream/close()``, the input fails with
    /// `LoadError.Code.truncated`. When the input is closed, a write fails with `LoadError.Code.connectionLost`.
    ///
    /// - Parameter bufferSize: the size of the buffer between the streams, in bytes, from 1 to 1 GiB.
    public static func boundPair(bufferSize: Int = 64 << 10) -> (input: ByteInputStream, output: ByteOutputStream) {
        let pipe = BoundedBuffer(capacity: min(max(bufferSize, 1), 1 << 30))
        return (ByteInputStream(BoundSource(pipe)), ByteOutputStream(BoundSink(pipe)))
    }
}

/// A ring of bytes between one reader and one writer. Each of them copies without the lock, because the other never
/// touches its part of the ring.
@safe
private final class BoundedBuffer: @unchecked Sendable {  // … because the reader and the writer use separate parts of `bytes`
    private enum WriterEnd { case finished, lost }

    private struct State {
        /// The position of the first unread byte, and the number of unread bytes.
        var (start, count) = (0, 0)
        var writerEnd: WriterEnd?
        var isReaderClosed = false
        var readerWaiter: (@Sendable () -> Void)?
        var writerWaiter: (@Sendable () -> Void)?
    }

    private let bytes: UnsafeMutableRawBufferPointer
    private let capacity: Int
    private let state = Mutex(State())

    init(capacity: Int) {
        self.capacity = capacity
        unsafe bytes = .allocate(byteCount: capacity, alignment: 16)
    }

    deinit { unsafe bytes.deallocate() }

    private enum Part {
        /// Unread bytes, or free space, up to the end of the ring.
        case range(Range<Int>)
        case result(BodyRead)
    }

    private func unreadPart(_ whenReady: (@Sendable () -> Void)?) -> Part {
        state.withLock { state in
            guard state.count == 0 else { return .range(state.start..<min(state.start + state.count, capacity)) }
            switch state.writerEnd {
            case .finished: return .result(.end)
            case .lost:
                return .result(.failed(LoadError(.truncated, message: "the output stream of the pair was released before it was closed")))
            case nil:
                state.readerWaiter = whenReady
                return .result(.wait)
            }
        }
    }

    private func didRead(_ count: Int) {
        state.withLock { state in
            state.start = (state.start + count) % capacity
            state.count -= count
            return state.writerWaiter.take()
        }?()
    }

    func read(into buffer: inout OutputRawSpan, whenReady: @escaping @Sendable () -> Void) -> BodyRead {
        var total = 0
        // The unread bytes can be in two parts of the ring.
        while buffer.freeCapacity > 0 {
            switch unreadPart(total == 0 ? whenReady : nil) {
            case .result(let result): return total > 0 ? .bytes : result
            case .range(let range):
                let count = min(range.count, buffer.freeCapacity)
                unsafe buffer.append(contentsOf: UnsafeRawBufferPointer(rebasing: bytes[range.lowerBound..<range.lowerBound + count]))
                didRead(count)
                total += count
                if range.upperBound < capacity { return .bytes }
            }
        }
        return .bytes
    }

    func peek(whenReady: @escaping @Sendable () -> Void) -> BodyRead {
        switch unreadPart(whenReady) {
        case .range: .bytes
        case .result(let result): result
        }
    }

    func withUnreadBytes(_ body: (borrowing RawSpan) -> Int) -> Bool {
        guard case .range(let range) = unreadPart(nil) else { return false }
        let count = body(unsafe RawSpan(_unsafeBytes: UnsafeRawBufferPointer(rebasing: bytes[range])))
        didRead(min(max(count, 0), range.count))
        return true
    }

    func write(_ source: borrowing RawSpan, whenReady: @escaping @Sendable () -> Void) -> StreamWrite {
        var total = 0
        while true {
            let free: Range<Int>? = state.withLock { state in
                guard !state.isReaderClosed else { return nil }
                let start = (state.start + state.count) % capacity
                let free = start..<min(start + capacity - state.count, capacity)
                if free.isEmpty, total == 0 { state.writerWaiter = whenReady }
                return free
            }
            guard let free else {
                return total > 0 ? .wrote(total) : .failed(LoadError(.connectionLost, message: "the input stream of the pair was closed"))
            }
            if free.isEmpty { return total > 0 ? .wrote(total) : .wait }
            let count = min(free.count, source.byteCount - total)
            if count == 0 { return .wrote(total) }
            unsafe source.extracting(total..<total + count).withUnsafeBytes { source in
                unsafe UnsafeMutableRawBufferPointer(rebasing: bytes[free.lowerBound..<free.lowerBound + count]).copyMemory(from: source)
            }
            total += count
            state.withLock { state in
                state.count += count
                return state.readerWaiter.take()
            }?()
        }
    }

    func endWriting(isComplete: Bool) {
        state.withLock { state in
            state.writerEnd = state.writerEnd ?? (isComplete ? .finished : .lost)
            state.writerWaiter = nil
            return state.readerWaiter.take()
        }?()
    }

    func endReading() {
        state.withLock { state in
            state.isReaderClosed = true
            state.readerWaiter = nil
            return state.writerWaiter.take()
        }?()
    }
}

private final class BoundSource: ByteSource {
    private let buffer: BoundedBuffer

    init(_ buffer: BoundedBuffer) { self.buffer = buffer }

    func read(into target: inout OutputRawSpan, whenReady: @escaping @Sendable () -> Void) -> BodyRead {
        buffer.read(into: &target, whenReady: whenReady)
    }

    func withAvailableBytes(_ body: (borrowing RawSpan) -> Int) -> Bool { buffer.withUnreadBytes(body) }
    func peek(whenReady: @escaping @Sendable () -> Void) -> BodyRead? { buffer.peek(whenReady: whenReady) }
    func close() { buffer.endReading() }
}

private final class BoundSink: ByteSink {
    private let buffer: BoundedBuffer

    init(_ buffer: BoundedBuffer) { self.buffer = buffer }

    func write(_ bytes: borrowing RawSpan, whenReady: @escaping @Sendable () -> Void) -> StreamWrite {
        buffer.write(bytes, whenReady: whenReady)
    }

    func finish() -> LoadError? {
        buffer.endWriting(isComplete: true)
        return nil
    }

    func close() { buffer.endWriting(isComplete: false) }
}
