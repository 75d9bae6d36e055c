// SPDX-License-Identifier: Apache-2.0

public import FoundationEssentials
public import PortolanCore

/// The values of a body of JSON lines, one per line, as they arrive.
///
/// The sequence can be read once. While the reader requests nothing, the handler is paused; when the sequence and its
/// iterators are released, the load is cancelled. Lines of white space are skipped. A byte order mark at the start is
/// ignored. The last line needs no line break.
///
/// A failure ends the sequence: `LoadError` if the load failed or a line is too long, and the `DecodingError` of a
/// line that is not a value.
///
/// <https://jsonlines.org>, also known as NDJSON
public struct JSONLines<Value: Decodable>: AsyncSequence, Sendable {
    public typealias Element = Value

    let chunks: ByteChunks
    let decoder: JSONDecoder
    let maximumLineSize: Int

    public func makeAsyncIterator() -> Iterator {
        Iterator(chunks: chunks, decoder: decoder, splitter: LineSplitter(limit: maximumLineSize))
    }

    public struct Iterator: AsyncIteratorProtocol {
        /// `nil` after the end and after a failure.
        private var chunks: ByteChunks.Iterator?
        private let task: LoadTask
        private let decoder: JSONDecoder
        private var splitter: LineSplitter
        private var lines: ArraySlice<[UInt8]> = []
        private var isFirstLine = true

        init(chunks: ByteChunks, decoder: JSONDecoder, splitter: LineSplitter) {
            (self.chunks, task, self.decoder, self.splitter) = (chunks.makeAsyncIterator(), chunks.task, decoder, splitter)
        }

        public mutating func next() async throws -> Value? {
            do {
                while true {
                    while let line = lines.popFirst() {
                        if let value = try decode(line) { return value }
                    }
                    if chunks != nil, let failure = splitter.failure { throw failure }
                    guard let piece = try await chunks?.next() else {
                        guard chunks != nil, let line = try splitter.finish() else {
                            chunks = nil
                            return nil
                        }
                        chunks = nil
                        lines = [line]
                        continue
                    }
                    lines = splitter.append(piece)[...]
                }
            } catch {
                task.cancel()
                chunks = nil
                lines = []
                throw error
            }
        }

        /// Returns `nil` for a line without a value.
        private mutating func decode(_ line: [UInt8]) throws -> Value? {
            var line = line[...]
            if isFirstLine, line.starts(with: [0xEF, 0xBB, 0xBF]) { line = line.dropFirst(3) }
            isFirstLine = false
            guard line.contains(where: { $0 != UInt8(ascii: " ") && $0 != UInt8(ascii: "\t") && $0 != UInt8(ascii: "\r") }) else {
                return nil
            }
            return try decoder.decode(Value.self, from: Data(line))
        }
    }
}

extension Loader {
    /// Loads a request, and returns the values of its JSON lines as they arrive.
    ///
    ///     for try await entry in try await loader.jsonLines(of: Entry.self, from: "https://example.org/log") {
    ///         print(entry)
    ///     }
    ///
    /// A request without `Accept` gets `Accept: application/jsonl, application/x-ndjson`. The type of the response is
    /// not checked.
    ///
    /// - Parameters:
    ///   - type: the type of the values.
    ///   - request: the request.
    ///   - maximumLineSize: the maximum number of bytes of a line; 1 MiB by default.
    ///   - decoder: decodes the values.
    /// - Throws: `LoadError` if no response came; ``StatusError`` if its status is 400 or above.
    public func jsonLines<Value: Decodable>(
        of type: Value.Type = Value.self, for request: Request, maximumLineSize: Int = 1 << 20, decoder: JSONDecoder = JSONDecoder()
    ) async throws -> JSONLines<Value> {
        let (chunks, response) = try await bytes(for: request.accepting("application/jsonl, application/x-ndjson"))
        try await chunks.validated(for: response)
        return JSONLines(chunks: chunks, decoder: decoder, maximumLineSize: maximumLineSize)
    }

    /// Does what `jsonLines(of:for:maximumLineSize:decoder:)` does, for a URL as text. A relative URL refers to
    /// `Configuration.baseURL`.
    public func jsonLines<Value: Decodable>(
        of type: Value.Type = Value.self, from url: String, maximumLineSize: Int = 1 << 20, decoder: JSONDecoder = JSONDecoder()
    ) async throws -> JSONLines<Value> {
        try await jsonLines(of: type, for: makeRequest(url), maximumLineSize: maximumLineSize, decoder: decoder)
    }

    /// Does what `jsonLines(of:for:maximumLineSize:decoder:)` does, for a Foundation URL.
    public func jsonLines<Value: Decodable>(
        of type: Value.Type = Value.self, from url: URL, maximumLineSize: Int = 1 << 20, decoder: JSONDecoder = JSONDecoder()
    ) async throws -> JSONLines<Value> {
        try await jsonLines(of: type, for: Request(url), maximumLineSize: maximumLineSize, decoder: decoder)
    }
}
