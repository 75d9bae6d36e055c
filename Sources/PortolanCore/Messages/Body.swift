// SPDX-License-Identifier: Apache-2.0

import Synchronization

/// The bytes that a request sends.
public struct Body: Sendable {
    /// How many bytes it has; `nil` where that is not known beforehand.
    public let length: Int64?
    /// Whether ``makeReader()`` works more than once, so that the body can be sent again after a redirect or a challenge.
    public let isRewindable: Bool
    private let open: @Sendable () throws(LoadError) -> any BodyReader
    private let onDiscard: (@Sendable () -> Void)?
    /// Of a body that can be read only once, whether it was.
    private let spending: Spending?

    /// A body that comes from elsewhere.
    ///
    /// - Parameters:
    ///   - length: in bytes, if it is known; a reader that gives more or fewer makes the load fail.
    ///   - isRewindable: whether `open` can be called again, each time for a reader at the start.
    ///   - open: gives a reader at the start; called each time the body is to be sent.
    ///   - discard: called when the load is over, whether the body was read or not: nobody will read it any more. Unless it can be read again.
    public init(
        length: Int64?, isRewindable: Bool, discard: (@Sendable () -> Void)? = nil,
        open: @escaping @Sendable () throws(LoadError) -> any BodyReader
    ) {
        self.length = length
        self.isRewindable = isRewindable
        self.open = open
        onDiscard = isRewindable ? nil : discard
        spending = isRewindable ? nil : Spending()
    }

    /// Whether it was read, and can't be again. Copies of a body know of each other.
    package var isSpent: Bool { spending?.isSpent.load(ordering: .acquiring) ?? false }

    /// The load that was to send this body is over.
    package func discard() { onDiscard?() }

    /// A reader at the first byte, which fails if it comes to more or fewer bytes than ``length``.
    ///
    /// - Throws: ``LoadError/Code/bodyFailed`` where the body can't be opened, and for the second reader of a body that is not rewindable.
    public func makeReader() throws(LoadError) -> any BodyReader {
        if let spending, spending.isSpent.exchange(true, ordering: .acquiringAndReleasing) {
            throw LoadError(.bodyFailed, message: "the body can be read only once, and it was; send one that can be read again")
        }
        let reader = try open()
        if reader is any FileBackedReader { return reader }
        return length.map { LengthValidatingReader(reader, length: $0) } ?? reader
    }
}

private final class Spending: Sendable {
    let isSpent = Atomic(false)
}

/// Gives the bytes of a body, in order, to one caller at a time.
public protocol BodyReader: AnyObject, Sendable {
    /// Appends bytes to `buffer`, which has room for one at least, as many as there are and fit, without waiting.
    ///
    /// After ``BodyRead/wait``, `whenReady` is called once, on any thread, when another read is worth while; it may be called before this
    /// function returns. After any other answer it is not called.
    func read(into buffer: inout OutputRawSpan, whenReady: @escaping @Sendable () -> Void) -> BodyRead
    /// Lets go of what the reader holds; no read follows. Any thread, more than once.
    func close()
}

/// A reader whose bytes lie in a regular file, so that the kernel can take them from there (`sendfile(2)`). It sees to the body's length itself.
package protocol FileBackedReader: BodyReader {
    /// Has `send` take the next bytes, as ``BodyReader/read(into:whenReady:)`` would give them.
    ///
    /// - Parameter send: gets the file's descriptor, where the bytes begin, and how many there may be at most.
    /// - Returns: what `send` did; ``FileTransfer/unable`` also where there is nothing to send. What is the matter then, the next read says.
    func send(_ send: (_ descriptor: CInt, _ offset: Int64, _ count: Int) -> FileTransfer) -> FileTransfer
}

/// What became of bytes that the kernel was to take from a file.
package enum FileTransfer: Sendable, Equatable {
    /// So many, one at least.
    case took(Int)
    /// None for now.
    case full
    /// It can't take any this way.
    case unable
}

/// The answer to a read of a body.
public enum BodyRead: Sendable {
    /// Bytes were appended, one at least.
    case bytes
    /// Nothing yet.
    case wait
    case end
    case failed(LoadError)
}
