// SPDX-License-Identifier: Apache-2.0

// The code below is an example of streams.md.

import PortolanCore
import PortolanStreams
import Synchronization

/// Passes bytes on, and computes their Adler-32 checksum (RFC 1950 §8.2).
final class ChecksumSource: ByteSource {
    private let source: any ByteSource
    private let sums = Mutex((a: UInt32(1), b: UInt32(0)))

    init(_ source: any ByteSource) { self.source = source }

    /// The checksum of the bytes that were read until now.
    var checksum: UInt32 { sums.withLock { $0.b << 16 | $0.a } }

    func open(_ completion: @escaping @Sendable (LoadError?) -> Void) { source.open(completion) }

    func read(into buffer: inout OutputRawSpan, whenReady: @escaping @Sendable () -> Void) -> BodyRead {
        let start = buffer.byteCount
        let result = source.read(into: &buffer, whenReady: whenReady)
        unsafe buffer.bytes.withUnsafeBytes { bytes in
            sums.withLock { sums in
                for index in start..<bytes.count {
                    sums.a = (sums.a + UInt32(unsafe bytes[index])) % 65521
                    sums.b = (sums.b + sums.a) % 65521
                }
            }
        }
        return result
    }

    func close() { source.close() }
}
