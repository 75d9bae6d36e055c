// SPDX-License-Identifier: Apache-2.0

public import PortolanCore
import Synchronization

extension Body {
    /// A body that is read from a stream while it is sent.
    ///
    /// The stream is opened when the body is sent. If its ``StreamPropertyKey/currentOffset`` can be set, the body can
    /// be sent again after a redirect or a challenge, from the offset that the stream has at the time of this call;
    /// close the stream when the load has ended. Any other stream is closed with the load.
    ///
    /// - Parameters:
    ///   - stream: a stream that nothing else uses.
    ///   - length: the number of bytes, if it is known. A stream with another number fails the load.
    public static func stream(_ stream: ByteInputStream, length: Int64? = nil) -> Body {
        let start = stream.settableOffset
        return Body(length: length, isRewindable: start != nil, discard: { stream.close() }) { () throws(LoadError) in
            stream.open()
            do throws(LoadError) {
                if let start { try stream.setProperty(start, for: .currentOffset) }
            } catch {
                throw .unreadableStream(error)
            }
            return StreamReader(stream, closesStream: start == nil)
        }
    }
}

extension LoadError {
    fileprivate static func unreadableStream(_ error: LoadError) -> LoadError {
        LoadError(.bodyFailed, message: "the body's stream can't be read", underlyingError: error)
    }
}

extension ByteInputStream {
    /// Makes a stream of a body: of the body of a request, or with `.stream(chunks)` of any sequence of bytes, such as
    /// the body of a response.
    ///
    ///     let (chunks, response) = try await Loader.shared.bytes(from: "https://example.org/tides.csv")
    ///     let input = ByteInputStream(.stream(chunks))
    ///
    /// The body is read from its beginning. A body that can be read only once can be the body of only one stream.
    public convenience init(_ body: Body) { self.init(BodySource(body)) }
}

extension ByteInputStream {
    /// The offset, if it can be set.
    fileprivate var settableOffset: Int64? {
        guard let offset = property(.currentOffset) else { return nil }
        do throws(LoadError) {
            try setProperty(offset, for: .currentOffset)
            return offset
        } catch {
            return nil
        }
    }
}

private final class StreamReader: BodyReader {
    private let stream: ByteInputStream
    private let closesStream: Bool

    init(_ stream: ByteInputStream, closesStream: Bool) { (self.stream, self.closesStream) = (stream, closesStream) }

    func read(into buffer: inout OutputRawSpan, whenReady: @escaping @Sendable () -> Void) -> BodyRead {
        let result = stream.read(into: &buffer, whenReady: whenReady)
        guard case .failed(let error) = result else { return result }
        return .failed(.unreadableStream(error))
    }

    func close() { if closesStream { stream.close() } else { stream.core.removeWaiter() } }
}

private final class BodySource: ByteSource {
    private let body: Body
    private let reader = Mutex<(any BodyReader)?>(nil)

    init(_ body: Body) { self.body = body }

    func open(_ completion: @escaping @Sendable (LoadError?) -> Void) {
        do throws(LoadError) {
            let opened = try body.makeReader()
            reader.withLock { $0 = opened }
            completion(nil)
        } catch {
            completion(error)
        }
    }

    func read(into buffer: inout OutputRawSpan, whenReady: @escaping @Sendable () -> Void) -> BodyRead {
        guard let reader = reader.withLock({ $0 }) else { return .end }
        return reader.read(into: &buffer, whenReady: whenReady)
    }

    var waitsForDisk: Bool { reader.withLock { $0 } is any FileBackedReader }

    func close() {
        reader.withLock { $0 }?.close()
        body.discard()
    }
}
