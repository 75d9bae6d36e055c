// SPDX-License-Identifier: Apache-2.0

import PortolanCore
import Synchronization

extension ByteInputStream {
    /// A stream of bytes in memory. ``StreamPropertyKey/currentOffset`` can be set.
    public convenience init(_ bytes: [UInt8]) { self.init(MemorySource(bytes)) }
}

extension ByteOutputStream {
    /// A stream that keeps the written bytes in memory, without a limit. ``StreamPropertyKey/writtenBytes`` has them,
    /// also after ``close()``.
    public static func toMemory() -> ByteOutputStream { ByteOutputStream(MemorySink(capacity: .max)) }

    /// A stream that keeps at most `capacity` bytes in memory. ``StreamPropertyKey/writtenBytes`` has them.
    ///
    /// When the buffer is full, the next write fails with `LoadError.Code.streamFull`. If the stream reports events,
    /// the error is reported as soon as the buffer is full.
    public static func toBuffer(capacity: Int) -> ByteOutputStream { ByteOutputStream(MemorySink(capacity: max(capacity, 0))) }
}

private final class MemorySource: ByteSource {
    private let bytes: [UInt8]
    private let offset = Mutex(0)

    init(_ bytes: [UInt8]) { self.bytes = bytes }

    func read(into buffer: inout OutputRawSpan, whenReady: @escaping @Sendable () -> Void) -> BodyRead {
        let range = take(atMost: buffer.freeCapacity)
        guard !range.isEmpty else { return .end }
        unsafe bytes[range].withUnsafeBytes { bytes in unsafe buffer.append(contentsOf: bytes) }
        return .bytes
    }

    func withAvailableBytes(_ body: (borrowing RawSpan) -> Int) -> Bool {
        let start = offset.withLock { $0 }
        guard start < bytes.count else { return false }
        let count = unsafe bytes.withUnsafeBytes { body(unsafe RawSpan(_unsafeBytes: UnsafeRawBufferPointer(rebasing: $0[start...]))) }
        _ = take(atMost: max(count, 0))
        return true
    }

    func peek(whenReady: @escaping @Sendable () -> Void) -> BodyRead? { offset.withLock { $0 } < bytes.count ? .bytes : .end }

    private func take(atMost count: Int) -> Range<Int> {
        offset.withLock { offset in
            let start = offset
            offset += min(count, bytes.count - offset)
            return start..<offset
        }
    }

    func property(_ name: String) -> (any Sendable)? {
        name == StreamPropertyKey<Int64>.currentOffset.name ? Int64(offset.withLock { $0 }) : nil
    }

    func setProperty(_ value: any Sendable, for name: String) -> Bool {
        guard name == StreamPropertyKey<Int64>.currentOffset.name, let value = value as? Int64, 0...Int64(bytes.count) ~= value else {
            return false
        }
        offset.withLock { $0 = Int(value) }
        return true
    }

    func close() {}
}

private final class MemorySink: ByteSink {
    private let capacity: Int
    private let bytes = Mutex<[UInt8]>([])

    init(capacity: Int) { self.capacity = capacity }

    func write(_ bytes: borrowing RawSpan, whenReady: @escaping @Sendable () -> Void) -> StreamWrite {
        let space = capacity - self.bytes.withLock { $0.count }
        guard space > 0 else { return .failed(.stream(.streamFull, "the buffer is full: it has \(capacity) bytes")) }
        let part = bytes.extracting(first: min(space, bytes.byteCount))
        self.bytes.withLock { all in unsafe part.withUnsafeBytes { unsafe all.append(contentsOf: $0) } }
        return .wrote(part.byteCount)
    }

    func property(_ name: String) -> (any Sendable)? {
        switch name {
        case StreamPropertyKey<[UInt8]>.writtenBytes.name: bytes.withLock { $0 }
        case StreamPropertyKey<Int64>.currentOffset.name: Int64(bytes.withLock { $0.count })
        default: nil
        }
    }

    func close() {}
}
