// SPDX-License-Identifier: Apache-2.0

extension Body {
    /// A body from an asynchronous sequence, piece by piece, as fast as it is sent.
    ///
    /// - Parameters:
    ///   - chunks: the pieces; an error of the sequence fails the load.
    ///   - length: in bytes, if it is known; the load fails if the sequence has a different number.
    ///   - isRewindable: whether the sequence can be iterated more than once.
    public static func stream<Chunks: AsyncSequence & Sendable>(_ chunks: Chunks, length: Int64? = nil, isRewindable: Bool = false) -> Body
    where Chunks.Element == [UInt8] {
        Body(length: length, isRewindable: isRewindable) { () throws(LoadError) in
            let pipe = BodyWriter()
            let reader = try pipe.body().makeReader()
            let pump = Task {
                do {
                    for try await chunk in chunks { try await pipe.write(chunk) }
                    pipe.finish()
                } catch let error as LoadError {
                    pipe.fail(error)
                } catch {
                    pipe.fail(LoadError(.bodyFailed, message: "the body's sequence threw \(error)", underlyingError: error))
                }
            }
            return PumpedReader(reader, pump: pump)
        }
    }
}

/// A reader that cancels the task that feeds it.
private final class PumpedReader: BodyReader {
    private let reader: any BodyReader
    private let pump: Task<Void, Never>

    init(_ reader: any BodyReader, pump: Task<Void, Never>) {
        self.reader = reader
        self.pump = pump
    }

    deinit { pump.cancel() }

    func read(into buffer: inout OutputRawSpan, whenReady: @escaping @Sendable () -> Void) -> BodyRead {
        reader.read(into: &buffer, whenReady: whenReady)
    }

    func close() {
        reader.close()
        pump.cancel()
    }
}
