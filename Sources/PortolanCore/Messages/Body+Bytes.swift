// SPDX-License-Identifier: Apache-2.0

import Synchronization

extension Body {
    /// A body in memory.
    public static func bytes(_ bytes: [UInt8]) -> Body {
        Body(length: Int64(bytes.count), isRewindable: true) { () throws(LoadError) in ArrayReader(bytes) }
    }

    /// A text body, in UTF-8.
    public static func text(_ text: String) -> Body {
        bytes(Array(text.utf8))
    }
}

private final class ArrayReader: BodyReader {
    private let bytes: [UInt8]
    private let offset = Mutex(0)

    init(_ bytes: [UInt8]) {
        self.bytes = bytes
    }

    func read(into buffer: inout OutputRawSpan, whenReady: @escaping @Sendable () -> Void) -> BodyRead {
        let start = offset.withLock { offset in
            defer { offset += min(bytes.count - offset, buffer.freeCapacity) }
            return offset
        }
        let count = min(bytes.count - start, buffer.freeCapacity)
        guard count > 0 else { return .end }
        unsafe bytes.withUnsafeBytes { source in
            unsafe buffer.append(contentsOf: UnsafeRawBufferPointer(rebasing: source[start..<start + count]))
        }
        return .bytes
    }

    func close() {}
}
