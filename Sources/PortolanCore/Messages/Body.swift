// SPDX-License-Identifier: Apache-2.0

import Synchronization

/// The bytes that a request sends.
public struct Body: Sendable {
    /// The number of bytes; `nil` if it is not known beforehand.
    public let length: Int64?
    /// Whether the bytes can be read more than once, so that the body can be sent again after a redirect or a
    /// challenge.
    public let isRewindable: Bool
    private let open: @Sendable () throws(LoadError) -> any BodyReader
    private let onDiscard: (@Sendable () -> Void)?
    /// Whether the body was read. Only for a body that can be read once.
    private let spending: Spending?

    /// Makes a body from a custom source.
    ///
    /// - Parameters:
    ///   - length: in bytes, if it is known; a reader with more or fewer bytes makes the load fail.
    ///   - isRewindable: whether `open` can be called again, each time for a reader at the start.
    ///   - open: returns a reader at the start; called each time the body is to be sent.
    ///   - discard: called when the load is over, whether the body was read or not: no reader will follow. Not called
    ///     for a body that can be read again.
    package init(
        length: Int64?, isRewindable: Bool, discard: (@Sendable () -> Void)? = nil,
        open: @escaping @Sendable () throws(LoadError) -> any BodyReader
    ) {
        self.length = length
        self.isRewindable = isRewindable
        self.open = open
        onDiscard = isRewindable ? nil : discard
        spending = isRewindable ? nil : Spending()
    }

    /// Whether the body was read and cannot be read again. Copies of a body share this.
    package var isSpent: Bool { spending?.isSpent.load(ordering: .acquiring) ?? false }

    /// The load that was to send this body is over.
    package func discard() { onDiscard?() }

    /// Makes a reader at the first byte. The reader fails if it has more or fewer bytes than ``length``.
    ///
    /// - Throws: ``LoadError/Code/bodyFailed`` if the body cannot be opened, and for the second reader of a body that
    ///   is not rewindable.
    package func makeReader() throws(LoadError) -> any BodyReader {
        if let spending, spending.isSpent.exchange(true, ordering: .acquiringAndReleasing) {
            throw LoadError(.bodyFailed, message: "the body was already read, and can be read only once; send one that can be read again")
        }
        let reader = try open()
        if reader is any FileBackedReader { return reader }
        return length.map { LengthValidatingReader(reader, length: $0) } ?? reader
    }
}

private final class Spending: Sendable {
    let isSpent = Atomic(false)
}

/// Reads the bytes of a body, in order, for one caller at a time.
public protocol BodyReader: AnyObject, Sendable {
    /// Appends bytes to `buffer`, as many as are available and fit, without waiting. `buffer` has room for at least
    /// one.
    ///
    /// After ``BodyRead/wait``, `whenReady` is called once, on any thread, when another read is worthwhile. It may be
    /// called before this function returns. After any other result it is not called.
    func read(into buffer: inout OutputRawSpan, whenReady: @escaping @Sendable () -> Void) -> BodyRead
    /// Releases the reader's resources. No read follows. Any thread, possibly more than once.
    func close()
}

/// A reader whose bytes are in a regular file, so that the kernel can take them from there (`sendfile(2)`). It checks
/// the body's length itself.
package protocol FileBackedReader: BodyReader {
    /// Lets `send` take the next bytes, the same that ``BodyReader/read(into:whenReady:)`` would append.
    ///
    /// - Parameter send: receives the file's descriptor, the offset of the bytes, and their maximum number.
    /// - Returns: the result of `send`; ``FileTransfer/unable`` also if there is nothing to send. The next read returns
    ///   the reason.
    func send(_ send: (_ descriptor: CInt, _ offset: Int64, _ count: Int) -> FileTransfer) -> FileTransfer
}

/// The result of a transfer by the kernel from a file.
package enum FileTransfer: Sendable, Equatable {
    /// This number of bytes was taken, at least one.
    case took(Int)
    /// No bytes can be taken at the moment.
    case full
    /// Bytes cannot be taken in this way.
    case unable
}

/// The result of a read of a body.
public enum BodyRead: Sendable {
    /// Bytes were appended, at least one.
    case bytes
    /// No bytes are available yet.
    case wait
    case end
    case failed(LoadError)
}
