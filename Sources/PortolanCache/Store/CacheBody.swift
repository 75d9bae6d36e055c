// SPDX-License-Identifier: Apache-2.0

package import PortolanCore

/// The octets of a stored response. They never change, so any number of loads read them at the same time, without a
/// copy. They stay readable after the store has removed the entry.
package protocol CacheBody: AnyObject, Sendable {
    /// The positions of these octets in the representation. A complete body has one range from 0.
    var ranges: ByteRangeSet { get }

    /// Makes a reader of these octets.
    ///
    /// - Parameter range: a range that `ranges` contains. A reader of another one fails at the latest at the first
    ///   octet that is not stored.
    func makeReader(of range: Range<Int64>) -> any CacheBodyReader
}

/// Reads the octets of a stored response, in order, for one caller at a time.
package protocol CacheBodyReader: AnyObject, Sendable {
    /// Reads the next octets without waiting.
    ///
    /// If there are octets, calls `receive` once with at least one and at most `limit` octets, borrowed until `receive`
    /// returns. Otherwise, `receive` is not called. If the result is ``BodyRead/wait``, `whenReady` is called once, on
    /// any thread, when the next read will return something else. The call can come before this function returns.
    ///
    /// - Returns: ``BodyRead/failed(_:)`` if the octets can't be read any more, or are damaged. The octets that were
    ///   read before were intact. A load that has delivered none of them begins again without the entry.
    func read(
        atMost limit: Int, _ receive: (borrowing RawSpan) -> Void, whenReady: @escaping @Sendable () -> Void
    ) -> BodyRead

    /// Releases the reader's resources. No read follows.
    func close()
}

extension CacheBody {
    /// The octets as the body of a `CachedResponse`, for a handler that checks itself whether a stored
    /// response is still valid.
    package func body(of range: Range<Int64>) -> Body {
        Body(length: Int64(range.count), isRewindable: true) { () throws(LoadError) in
            CopyingReader(self.makeReader(of: range))
        }
    }
}

private final class CopyingReader: BodyReader {
    private let reader: any CacheBodyReader

    init(_ reader: any CacheBodyReader) { self.reader = reader }

    func read(into buffer: inout OutputRawSpan, whenReady: @escaping @Sendable () -> Void) -> BodyRead {
        reader.read(
            atMost: buffer.freeCapacity, { bytes in unsafe bytes.withUnsafeBytes { unsafe buffer.append(contentsOf: $0) } },
            whenReady: whenReady)
    }

    func close() { reader.close() }
}
