// SPDX-License-Identifier: Apache-2.0

import PortolanCore

extension ByteInputStream {
    /// Makes a source of the rest of this stream, for a custom source that filters it.
    ///
    /// The source opens and closes this stream. Use the stream in no other way. An error of opening the stream is
    /// the result of the first read.
    public func makeSource() -> any ByteSource { StreamSource(self) }

    /// Reads without waiting, as a source does.
    func read(into buffer: inout OutputRawSpan, whenReady: @escaping @Sendable () -> Void) -> BodyRead {
        do throws(LoadError) {
            while true {
                if let count = try readAvailable(into: &buffer) { return count == 0 ? .end : .bytes }
                switch core.addWaiter(whenReady) {
                case .waits: return .wait
                case .isReady: continue
                case .failed(let error): return .failed(error)
                }
            }
        } catch {
            return .failed(error)
        }
    }
}

private final class StreamSource: ByteSource {
    private let stream: ByteInputStream

    init(_ stream: ByteInputStream) { self.stream = stream }

    func open(_ completion: @escaping @Sendable (LoadError?) -> Void) {
        stream.open()
        completion(nil)
    }

    func read(into buffer: inout OutputRawSpan, whenReady: @escaping @Sendable () -> Void) -> BodyRead {
        stream.read(into: &buffer, whenReady: whenReady)
    }

    func close() { stream.close() }
    var waitsForDisk: Bool { stream.core.isOnDisk }
}
