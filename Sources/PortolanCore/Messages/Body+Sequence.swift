// SPDX-License-Identifier: Apache-2.0

extension Body {
    /// A body whose pieces come from an asynchronous sequence. The load requests the next piece when it can send it.
    ///
    /// - Parameters:
    ///   - chunks: the pieces. An error of the sequence fails the load.
    ///   - length: the number of bytes, if it is known. If the sequence has another number, the load fails.
    ///   - isRewindable: whether the sequence can be iterated more than once.
    public static func stream<Chunks: AsyncSequence & Sendable>(_ chunks: Chunks, length: Int64? = nil, isRewindable: Bool = false) -> Body
    where Chunks.Element == [UInt8] {
        Body(length: length, isRewindable: isRewindable) { () throws(LoadError) in
            let pipe = BodyWriter()
            let reader = try pipe.body().makeReader()
            let writer = Task {
                do {
                    for try await chunk in chunks { try await pipe.write(chunk) }
                    pipe.finish()
                } catch let error as LoadError {
                    pipe.fail(error)
                } catch {
                    pipe.fail(LoadError(.bodyFailed, message: "the body's sequence threw \(error)", underlyingError: error))
                }
            }
            return SequenceReader(reader, writer: writer)
        }
    }
}

/// A reader of the pipe into which a task writes the sequence. When it is closed, it cancels the task.
private final class SequenceReader: BodyReader {
    private let reader: any BodyReader
    private let writer: Task<Void, Never>

    init(_ reader: any BodyReader, writer: Task<Void, Never>) {
        self.reader = reader
        self.writer = writer
    }

    deinit { writer.cancel() }

    func read(into buffer: inout OutputRawSpan, whenReady: @escaping @Sendable () -> Void) -> BodyRead {
        reader.read(into: &buffer, whenReady: whenReady)
    }

    func close() {
        reader.close()
        writer.cancel()
    }
}
