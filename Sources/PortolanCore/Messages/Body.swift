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
    /// Whether the body was read; `nil` for a body that can be read again. A reference, which copies of the body share.
    private let readFlag: ReadFlag?

    /// Makes a body from a custom source.
    ///
    /// - Parameters:
    ///   - length: the number of bytes, if it is known. A reader with more or fewer bytes fails the load.
    ///   - isRewindable: whether `open` can be called more than once.
    ///   - discard: called when the load is over, whether the body was read or not. No reader is made after that. Not
    ///     called for a body that can be read again.
    ///   - open: returns a reader at the first byte. Called each time the body is to be sent.
    package init(
        length: Int64?, isRewindable: Bool, discard: (@Sendable () -> Void)? = nil,
        open: @escaping @Sendable () throws(LoadError) -> any BodyReader
    ) {
        self.length = length
        self.isRewindable = isRewindable
        self.open = open
        onDiscard = isRewindable ? nil : discard
        readFlag = isRewindable ? nil : ReadFlag()
    }

    /// Whether the body was read and cannot be read again. Copies of a body share this state.
    package var isSpent: Bool { readFlag?.isSpent.load(ordering: .acquiring) ?? false }

    /// Releases the source of the body, because the load is over.
    package func discard() { onDiscard?() }

    /// Makes a reader at the first byte. The reader fails if it has more or fewer bytes than ``length``.
    ///
    /// - Throws: ``LoadError/Code/bodyFailed`` if the body cannot be opened, and for the second reader of a body that
    ///   is not rewindable.
    package func makeReader() throws(LoadError) -> any BodyReader {
        if let readFlag, readFlag.isSpent.exchange(true, ordering: .acquiringAndReleasing) {
            throw LoadError(.bodyFailed, message: "the body was already read, and can be read only once; send one that can be read again")
        }
        let reader = try open()
        if reader is any FileBackedReader { return reader }
        return length.map { LengthValidatingReader(reader, length: $0) } ?? reader
    }
}

private final class ReadFlag: Sendable {
    let isSpent = Atomic(false)
}

/// Reads the bytes of a body, in order, for one caller at a time.
public protocol BodyReader: AnyObject, Sendable {
    /// Appends the available bytes to `buffer`, as many as fit, without waiting. `buffer` has room for at least one
    /// byte.
    ///
    /// After ``BodyRead/wait``, `whenReady` is called once, on any thread, when the next read will return something
    /// else. The call can come before this function returns. After any other result `whenReady` is not called.
    func read(into buffer: inout OutputRawSpan, whenReady: @escaping @Sendable () -> Void) -> BodyRead
    /// Releases the reader's resources. No read follows. Called on any thread, possibly more than once.
    func close()
}

/// A reader of a regular file. The kernel can send its bytes without a copy to the process (`sendfile(2)`). The reader
/// checks the body's length itself.
package protocol FileBackedReader: BodyReader {
    /// Sends the next bytes with `send`, instead of ``BodyReader/read(into:whenReady:)``.
    ///
    /// - Parameter send: receives the file's descriptor, the offset of the bytes, and their maximum number.
    /// - Returns: the result of `send`, or ``FileSendResult/unable`` if there is nothing to send. The next read returns
    ///   the reason.
    func send(_ send: (_ descriptor: CInt, _ offset: Int64, _ count: Int) -> FileSendResult) -> FileSendResult

    /// Continues after the next `count` bytes, which must be in the file.
    func skip(_ count: Int64)
}

/// The result of ``FileBackedReader/send(_:)``.
package enum FileSendResult: Sendable, Equatable {
    /// The number of bytes that were sent, at least one.
    case sent(Int)
    /// No bytes can be sent at the moment, because the buffer of the socket is full.
    case full
    /// The bytes cannot be sent in this way.
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
