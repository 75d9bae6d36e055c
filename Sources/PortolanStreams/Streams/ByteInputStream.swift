// SPDX-License-Identifier: Apache-2.0

public import PortolanCore
import Synchronization

/// A stream from which a program reads bytes.
///
///     let input = ByteInputStream(path: "tides.csv")
///     input.open()
///     while case let bytes = try input.read(atMost: 4096), !bytes.isEmpty { parser.parse(bytes) }
///     input.close()
///
/// There are three ways to use a stream. A call of a second way, while the first is in use, throws
/// `LoadError.Code.streamInUse`:
/// - **polling**: a thread calls ``read(into:)``, which waits for bytes, or looks at ``hasBytesAvailable`` first;
/// - **events**: ``schedule(on:_:)`` reports when bytes are available;
/// - **tasks**: ``chunks(ofAtMost:)`` is a sequence for `for try await`.
///
/// Any thread can call the methods, but only one can read at a time. Keep a reference to the stream: it is closed when
/// the last reference is released.
public final class ByteInputStream: Sendable {
    let core: StreamCore
    private let source: any ByteSource
    private let readAhead: ReadAhead

    /// Makes a stream from a custom source. Nothing else may use the source.
    public init(_ source: any ByteSource) {
        let readAhead = ReadAhead()
        (self.source, self.readAhead) = (source, readAhead)
        core = StreamCore(source, readyEvent: .bytesAvailable) {
            readAhead.isEmpty ? source.peek(whenReady: $0).map(StreamTransfer.init) ?? readAhead.fill(from: source, whenReady: $0) : .moved
        } close: { _ in
            source.close()
            return nil
        }
    }

    /// The status. It can change at any time, if other threads use the stream.
    public var status: StreamStatus { core.status }
    /// Why the stream failed; `nil` if it did not.
    public var error: LoadError? { core.error }

    /// Opens the stream. Does not wait: ``status`` is ``StreamStatus/opening`` until the source is open, and a read
    /// waits for it. A second call has no effect.
    public func open() { core.open() }

    /// Closes the stream. No more events are reported, except for one that is already on its way. A thread or task
    /// that waits for the stream receives an error. A second call has no effect, and a closed stream can't be opened.
    public func close() { core.close() }

    // MARK: Polling

    /// Whether the next read returns bytes immediately. `false` at the end, after an error, and while another thread
    /// reads.
    public var hasBytesAvailable: Bool { core.isReady }

    /// Appends available bytes to `buffer`: at least one, but not always all that are available. Waits until there are
    /// some.
    ///
    /// - Returns: the number of bytes; 0 at the end of the stream.
    /// - Throws: the error of the source; `LoadError.Code.streamNotOpen`; `LoadError.Code.streamInUse` if the call
    ///   would wait although the stream reports events, or another thread reads; `LoadError.Code.noResources` if it
    ///   would block the thread of an event loop; `LoadError.Code.badRequest` if `buffer` is full.
    public func read(into buffer: inout OutputRawSpan) throws(LoadError) -> Int {
        guard buffer.freeCapacity > 0 else { throw LoadError(.badRequest, message: "the buffer for a read has no free space") }
        while true {
            if let count = try readAvailable(into: &buffer) { return count }
            try core.waitUntilReady()
        }
    }

    /// Reads at most `count` bytes, and at most 1 MiB, as ``read(into:)`` does.
    ///
    /// - Returns: the bytes; none at the end of the stream.
    public func read(atMost count: Int) throws(LoadError) -> [UInt8] {
        try [UInt8](capacity: min(max(count, 0), 1 << 20)) { buffer throws(LoadError) in _ = try read(into: &buffer) }
    }

    /// Calls `body` with the available bytes, in the memory of the source or of the stream, without copying them. Waits
    /// until there are some.
    ///
    /// - Parameter body: borrows the bytes until it returns, and must not use the stream. Returns how many of the bytes
    ///   it has used; the next read begins behind them. Use at least one: the bytes do not become more. If the source
    ///   has no memory of its own, the stream has read up to 16 KiB ahead, which ``close()`` discards.
    /// - Returns: `false` at the end of the stream, without calling `body`.
    /// - Throws: as ``read(into:)``
    public func withAvailableBytes(_ body: (borrowing RawSpan) -> Int) throws(LoadError) -> Bool {
        while true {
            switch try core.begin() {
            case .end: return false
            case .wait, .failed: try core.waitUntilReady()
            case .run:
                var usedCount = 0
                func use(_ bytes: borrowing RawSpan) -> Int {
                    usedCount = body(bytes)
                    return usedCount
                }
                if readAhead.isEmpty, source.withAvailableBytes(use) {
                    _ = try core.end(.moved, isResponse: usedCount > 0)
                    return true
                }
                var transfer = StreamTransfer.moved
                if readAhead.isEmpty, let next = source.peek(whenReady: core.whenReady) {
                    transfer = StreamTransfer(next)
                    // The bytes may have come in the meantime.
                    if case .moved = transfer, source.withAvailableBytes(use) {
                        _ = try core.end(.moved, isResponse: usedCount > 0)
                        return true
                    }
                }
                if case .moved = transfer { transfer = readAhead.fill(from: source, whenReady: core.whenReady) }
                if case .moved = transfer { readAhead.withBytes(use) }
                let isFinal = try core.end(transfer, isResponse: usedCount > 0)
                switch transfer {
                case .moved: return true
                case .end: return false
                case .wait, .failed: if isFinal { try core.waitUntilReady() }
                }
            }
        }
    }

    /// Reads without waiting.
    ///
    /// - Returns: the number of bytes, 0 at the end; `nil` if no bytes are available.
    func readAvailable(into buffer: inout OutputRawSpan) throws(LoadError) -> Int? {
        while true {
            switch try core.begin() {
            case .end: return 0
            case .wait, .failed: return nil
            case .run:
                let initialCount = buffer.byteCount
                var transfer = StreamTransfer.moved
                if !readAhead.move(into: &buffer) { transfer = StreamTransfer(source.read(into: &buffer, whenReady: core.whenReady)) }
                guard try core.end(transfer) else { continue }
                switch transfer {
                case .moved, .end: return buffer.byteCount - initialCount
                case .wait, .failed: return nil
                }
            }
        }
    }

    // MARK: Events

    /// Reports events to `handler`, one at a time, until ``unschedule()`` or ``close()``. Replaces an earlier handler.
    ///
    /// ``StreamEvent/bytesAvailable`` is reported again after the program has read, if there are more bytes. A read
    /// from the handler does not wait: after ``StreamEvent/bytesAvailable`` it returns bytes.
    ///
    /// - Parameters:
    ///   - queue: a dispatch queue, a run loop with its modes, or another queue. With `DeliveryQueue.immediate`, the
    ///     handler is called on the thread that has caused the event, which can be a thread of an event loop.
    ///   - handler: receives the stream, so that it need not retain it.
    /// - Throws: `LoadError.Code.streamInUse` if a thread or task waits for the stream;
    ///   `LoadError.Code.streamNotOpen` if it is closed.
    public func schedule(
        on queue: DeliveryQueue, _ handler: @escaping @Sendable (ByteInputStream, StreamEvent) -> Void
    ) throws(LoadError) {
        try core.schedule(on: queue) { [weak self] event in if let self { handler(self, event) } }
    }

    /// Reports available bytes even if an earlier report had no response.
    func reportAgain() {
        // `try?` because a thread that reads responds itself.
        _ = try? core.withExclusiveAccess { true }
    }

    /// Ends the reports. If this is not called on the queue, one event may still be on its way.
    public func unschedule() { core.unschedule() }

    // MARK: Properties

    /// - Returns: the value of a property; `nil` if this stream does not have it.
    public func property<Value>(_ key: StreamPropertyKey<Value>) -> Value? {
        let value = source.property(key.name)
        guard key.name == StreamPropertyKey<Int64>.currentOffset.name, let offset = value as? Int64 else { return value as? Value }
        // The source is ahead of the program.
        return offset - Int64(readAhead.count) as? Value
    }

    /// Sets a property.
    ///
    /// - Throws: `LoadError.Code.streamPropertyNotSettable`; `LoadError.Code.streamInUse` if another thread reads.
    public func setProperty<Value>(_ value: Value, for key: StreamPropertyKey<Value>) throws(LoadError) {
        guard !key.isReadOnly else { throw .notSettable(key) }
        let isSet = try core.withExclusiveAccess {
            guard source.setProperty(value, for: key.name) else { return false }
            if key.name == StreamPropertyKey<Int64>.currentOffset.name { readAhead.removeAll() }
            return true
        }
        if !isSet { throw .notSettable(key) }
    }
}

extension LoadError {
    static func notSettable<Value>(_ key: StreamPropertyKey<Value>) -> LoadError {
        let reason = key.isReadOnly ? "it is read-only" : "this stream does not have it, or not with this value"
        return .stream(.streamPropertyNotSettable, "the property '\(key.name)' can't be set: \(reason)")
    }
}

extension StreamTransfer {
    init(_ result: BodyRead) {
        self =
            switch result {
            case .bytes: .moved
            case .wait: .wait
            case .end: .end
            case .failed(let error): .failed(error)
            }
    }
}

/// Bytes that were read from the source to see whether there are any. Used by one thread at a time, so the lock is
/// never contended.
private final class ReadAhead: Sendable {
    private static let capacity = 16 << 10

    private let bytes = Mutex<ArraySlice<UInt8>>([])

    var count: Int { bytes.withLock { $0.count } }
    var isEmpty: Bool { count == 0 }

    func removeAll() { bytes.withLock { $0 = [] } }

    /// Reads bytes, unless there are some.
    func fill(from source: any ByteSource, whenReady: @escaping @Sendable () -> Void) -> StreamTransfer {
        guard isEmpty else { return .moved }
        var transfer = StreamTransfer.wait
        let read = [UInt8](capacity: Self.capacity) { buffer in transfer = StreamTransfer(source.read(into: &buffer, whenReady: whenReady))
        }
        bytes.withLock { $0 = read[...] }
        return transfer
    }

    /// - Returns: `false` if there are no bytes.
    func move(into buffer: inout OutputRawSpan) -> Bool {
        let moved = bytes.withLock { bytes in
            let part = bytes.prefix(buffer.freeCapacity)
            bytes = bytes.dropFirst(part.count)
            return part
        }
        unsafe moved.withUnsafeBytes { unsafe buffer.append(contentsOf: $0) }
        return !moved.isEmpty
    }

    /// Calls `body` with the bytes, and removes those that it has used.
    func withBytes(_ body: (borrowing RawSpan) -> Int) {
        let all = bytes.withLock { $0 }
        let count = unsafe all.withUnsafeBytes { body(unsafe RawSpan(_unsafeBytes: $0)) }
        bytes.withLock { $0 = all.dropFirst(min(max(count, 0), all.count)) }
    }
}
