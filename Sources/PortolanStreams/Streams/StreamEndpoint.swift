// SPDX-License-Identifier: Apache-2.0

public import PortolanCore

/// What a stream reads from, or writes to. Custom streams conform to ``ByteSource`` or ``ByteSink``.
///
/// The stream opens, reads, writes, closes and sets properties one after another, on any thread. Properties can be read
/// at any time. The threads may belong to the program, to a queue, or to an event loop, so no function may wait. A
/// function may call closures of the stream only while it holds no lock, because handlers can be called before they
/// return.
public protocol StreamEndpoint: AnyObject, Sendable {
    /// Opens the endpoint. Called once, before the first read or write.
    ///
    /// - Parameter completion: call it once, on any thread, possibly before this function returns: with `nil`, or with
    ///   the reason why the endpoint can't be opened.
    func open(_ completion: @escaping @Sendable (LoadError?) -> Void)
    /// Releases the resources. No other call follows, except for another `close()` and for reading properties.
    func close()
    /// - Returns: the value of a property; `nil` if the endpoint does not have it.
    func property(_ name: String) -> (any Sendable)?
    /// Sets a property.
    ///
    /// - Returns: `false` if the endpoint does not have the property, the property can't be set, or the value has
    ///   another type.
    func setProperty(_ value: any Sendable, for name: String) -> Bool
    /// Whether the functions wait for a disk. Then tasks call them on a thread outside of Swift's pool.
    var waitsForDisk: Bool { get }
}

extension StreamEndpoint {
    public func open(_ completion: @escaping @Sendable (LoadError?) -> Void) { completion(nil) }
    public func property(_ name: String) -> (any Sendable)? { nil }
    public func setProperty(_ value: any Sendable, for name: String) -> Bool { false }
    public var waitsForDisk: Bool { false }
}

/// What a ``ByteInputStream`` reads from.
///
/// `BodyReader.read(into:whenReady:)` is the only function that must be written, besides `close()`: a source that can
/// be the body of a request can be a stream.
public protocol ByteSource: StreamEndpoint, BodyReader {
    /// Calls `body` with bytes in the memory of the source, instead of a copy.
    ///
    /// - Parameter body: returns how many of the bytes it has used. They are not read again.
    /// - Returns: `false`, without a call of `body`, if the source has no such memory, or no bytes at the moment. Then
    ///   the stream reads.
    func withAvailableBytes(_ body: (borrowing RawSpan) -> Int) -> Bool
    /// Says what the next read would return, without reading.
    ///
    /// - Parameter whenReady: as for `BodyReader.read(into:whenReady:)`.
    /// - Returns: `nil` if the source can't know. Then the stream reads some bytes ahead.
    func peek(whenReady: @escaping @Sendable () -> Void) -> BodyRead?
}

extension ByteSource {
    public func peek(whenReady: @escaping @Sendable () -> Void) -> BodyRead? { nil }
    public func withAvailableBytes(_ body: (borrowing RawSpan) -> Int) -> Bool { false }
}

/// What a ``ByteOutputStream`` writes to.
public protocol ByteSink: StreamEndpoint {
    /// Accepts as many of the bytes as possible without waiting. With no bytes, the call asks whether a byte would be
    /// accepted; then `.wrote(0)` means yes.
    ///
    /// After ``StreamWrite/wait``, `whenReady` is called once, on any thread, when the next write will return something
    /// else. The call can come before this function returns. After any other result `whenReady` is not called.
    func write(_ bytes: borrowing RawSpan, whenReady: @escaping @Sendable () -> Void) -> StreamWrite
    /// The program has closed the stream after its last byte. Called at most once, also if the sink was not opened, and
    /// `close()` follows. If `close()` is called without it, bytes may be missing.
    ///
    /// - Returns: the error of bytes that were accepted, but could not be written. close(2)
    func finish() -> LoadError?
}

extension ByteSink {
    public func finish() -> LoadError? { nil }
}

/// The result of ``ByteSink/write(_:whenReady:)``.
public enum StreamWrite: Sendable {
    /// The number of accepted bytes: at least one, if there were any.
    case wrote(Int)
    /// No bytes are accepted at the moment.
    case wait
    case failed(LoadError)
}
