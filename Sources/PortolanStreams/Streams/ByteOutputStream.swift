// SPDX-License-Identifier: Apache-2.0

public import PortolanCore

/// A stream to which a program writes bytes.
///
///     let output = ByteOutputStream(path: "tides.csv")
///     output.open()
///     try output.write(all: Array("port,height\n".utf8))
///     output.close()
///     if let error = output.error { throw error }
///
/// There are three ways to use a stream, never two at once: **polling** with `write(_:)` and ``hasSpaceAvailable``,
/// **events** with ``schedule(on:_:)``, and **tasks** with `try await` `write(_:)`. ``ByteInputStream`` describes
/// them.
///
/// ``close()`` marks the end of the bytes. If the last reference is released before, the reader of a bound pair, and
/// the peer of ``SocketStreams``, see an error instead of the end. The reader of a pipe can't see the difference.
public final class ByteOutputStream: Sendable {
    let core: StreamCore
    private let sink: any ByteSink

    /// Makes a stream to a custom sink. Nothing else may use the sink.
    public init(_ sink: any ByteSink) {
        self.sink = sink
        core = StreamCore(sink, readyEvent: .spaceAvailable) { whenReady in
            switch sink.write(RawSpan(), whenReady: whenReady) {
            case .wrote: .moved
            case .wait: .wait
            case .failed(let error): .failed(error)
            }
        } close: { isComplete in
            let error = isComplete ? sink.finish() : nil
            sink.close()
            return error
        }
    }

    /// The status. It can change at any time, if other threads use the stream.
    public var status: StreamStatus { core.status }
    /// Why the stream failed, or why closing it failed; `nil` if it did not.
    public var error: LoadError? { core.error }

    /// Opens the stream. Does not wait: ``status`` is ``StreamStatus/opening`` until the sink is open, and a write
    /// waits for it. A second call has no effect.
    public func open() { core.open() }

    /// Closes the stream after the last byte. No more events are reported, except for one that is already on its way.
    /// If the system reports an error only now, as some file systems do, ``error`` has it afterwards.
    public func close() { core.close() }

    // MARK: Polling

    /// Whether the next write accepts a byte immediately. `false` after an error, and while another thread writes.
    public var hasSpaceAvailable: Bool { core.isReady }

    /// Writes as many of the bytes as there is space for: at least one. Waits until there is some space.
    ///
    /// - Returns: the number of written bytes; 0 if `bytes` is empty.
    /// - Throws: the error of the sink, such as `LoadError.Code.streamFull`; `LoadError.Code.streamNotOpen`;
    ///   `LoadError.Code.streamInUse` if the call would wait although the stream reports events, or another thread
    ///   writes; `LoadError.Code.noResources` if it would block the thread of an event loop.
    public func write(_ bytes: borrowing Span<UInt8>) throws(LoadError) -> Int {
        while true {
            if let count = try writeAvailable(unsafe bytes.bytes) { return count }
            try core.waitUntilReady()
        }
    }

    /// Writes all bytes. Waits while there is no space.
    ///
    /// - Throws: as `write(_:)`. Some of the bytes may have been written.
    public func write(all bytes: [UInt8]) throws(LoadError) {
        if let refusal = core.refusal { throw refusal }
        var count = 0
        while count < bytes.count { count += try write(bytes.span.extracting(droppingFirst: count)) }
    }

    /// Writes without waiting.
    ///
    /// - Returns: the number of bytes; `nil` if there is no space.
    func writeAvailable(_ bytes: borrowing RawSpan) throws(LoadError) -> Int? {
        if bytes.isEmpty {
            if let refusal = core.refusal { throw refusal }
            return 0
        }
        while true {
            guard case .run = try core.begin() else { return nil }
            let result = sink.write(bytes, whenReady: core.whenReady)
            switch result {
            case .wrote(let count):
                _ = try core.end(.moved)
                return min(max(count, 0), bytes.byteCount)
            case .wait: if try core.end(.wait) { return nil }
            case .failed(let error): _ = try core.end(.failed(error))
            }
        }
    }

    // MARK: Events

    /// Reports events to `handler`, one at a time, until ``unschedule()`` or ``close()``. Replaces an earlier handler.
    ///
    /// ``StreamEvent/spaceAvailable`` is reported again after the program has written, if there is space. A write from
    /// the handler does not wait: after ``StreamEvent/spaceAvailable`` it accepts at least one byte.
    ///
    /// - Parameters:
    ///   - queue: as for ``ByteInputStream/schedule(on:_:)``.
    ///   - handler: receives the stream, so that it need not retain it.
    /// - Throws: `LoadError.Code.streamInUse` if a thread or task waits for the stream;
    ///   `LoadError.Code.streamNotOpen` if it is closed.
    public func schedule(
        on queue: DeliveryQueue, _ handler: @escaping @Sendable (ByteOutputStream, StreamEvent) -> Void
    ) throws(LoadError) {
        try core.schedule(on: queue) { [weak self] event in if let self { handler(self, event) } }
    }

    /// Ends the reports. If this is not called on the queue, one event may still be on its way.
    public func unschedule() { core.unschedule() }

    // MARK: Properties

    /// - Returns: the value of a property; `nil` if this stream does not have it.
    public func property<Value>(_ key: StreamPropertyKey<Value>) -> Value? { sink.property(key.name) as? Value }

    /// Sets a property.
    ///
    /// - Throws: `LoadError.Code.streamPropertyNotSettable`; `LoadError.Code.streamInUse` if another thread writes.
    public func setProperty<Value>(_ value: Value, for key: StreamPropertyKey<Value>) throws(LoadError) {
        guard !key.isReadOnly, try core.withExclusiveAccess({ sink.setProperty(value, for: key.name) }) else { throw .notSettable(key) }
    }
}
