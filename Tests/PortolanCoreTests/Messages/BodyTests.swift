// SPDX-License-Identifier: Apache-2.0

import PortolanTestSupport
import Synchronization
import Testing

@testable import PortolanCore

@Suite(.timeLimit(.minutes(2))) struct BodyTests {
    @Test(arguments: [1, 3, 1000])
    func aBodyInMemoryCanBeReadTwice(size: Int) async throws {
        let body = Body.bytes(Array(0..<100))
        for _ in 0..<2 { #expect(try await Self.allBytes(of: body, size) == Array(0..<100)) }
    }

    @Test func anEmptyBodyEndsImmediately() async throws {
        #expect(try await Self.allBytes(of: .bytes([])).isEmpty)
        #expect(Body.text("").length == 0)
    }

    @Test(arguments: [1, 7, 100_000])
    func pipeDeliversAllBytesInOrder(size: Int) async throws {
        let pipe = BodyWriter(capacity: 100)
        async let read = Self.allBytes(of: pipe.body(), size)
        var written: [UInt8] = []
        for number in 0..<200 {
            let piece = [UInt8](repeating: UInt8(truncatingIfNeeded: number), count: number % 50)
            written += piece
            try await pipe.write(piece)
        }
        pipe.finish()
        #expect(try await read == written)
    }

    @Test func pipeCanBeReadOnlyOnce() throws {
        let body = BodyWriter().body()
        _ = try body.makeReader()
        let error = try #require(throws: LoadError.self) { try body.makeReader() }
        #expect(error.code == .bodyFailed)
    }

    /// A body that was read is spent. Its copies are spent, too.
    @Test func nonRewindableBodyCanBeReadOnlyOnce() throws {
        let body = Body(length: nil, isRewindable: false) { () throws(LoadError) in try Body.bytes([1]).makeReader() }
        let copy = body
        #expect(!copy.isSpent)
        _ = try body.makeReader()
        #expect(copy.isSpent)
        let error = LoadError(.bodyFailed, message: "the body was already read, and can be read only once; send one that can be read again")
        #expect(throws: error) { try copy.makeReader() }
        #expect(!Body.text("a").isSpent)
    }

    @Test func writeFailsAfterTheReaderIsClosed() async throws {
        let pipe = BodyWriter(capacity: 1)
        let reader = try pipe.body().makeReader()
        try await pipe.write([1, 2, 3])
        let waitingWrite = Task { try await pipe.write([4]) }
        reader.close()
        let error = try await #require(throws: LoadError.self) { try await waitingWrite.value }
        #expect(error.code == .cancelled)
    }

    @Test(arguments: ["finish", "fail", "cancel"])
    func waitingWriteFailsWhenThePipeEndsOrItsTaskIsCancelled(by ending: String) async throws {
        let pipe = BodyWriter(capacity: 1)
        try await pipe.write([1, 2, 3])
        let waitingWrite = Task { try await pipe.write([4]) }
        switch ending {
        case "finish": pipe.finish()
        case "fail": pipe.fail(LoadError(.ioFailed, message: "the source broke"))
        default: waitingWrite.cancel()
        }
        let error = try await #require(throws: LoadError.self) { try await waitingWrite.value }
        #expect(error.code == .cancelled)
    }

    /// The load of `ends:` finishes without reading the body, and no handler accepts `nosuch:`.
    @Test(arguments: ["ends:x", "nosuch:x"])
    func writeFailsAfterTheLoadHasEnded(url: String) async throws {
        let loader = loader(StubHandler(schemes: .only(["ends"])) { _ in .text("done") })
        let pipe = BodyWriter(capacity: 1)
        let writer = Task { for _ in 0..<100 { try await pipe.write([1, 2, 3]) } }
        _ = try? await loader.data(for: Request(url, body: pipe.body()))
        let error = try await #require(throws: LoadError.self) { try await writer.value }
        #expect(error.code == .cancelled)
    }

    @Test func aFailureReachesTheReaderAfterTheBytes() async throws {
        let pipe = BodyWriter()
        try await pipe.write([1])
        pipe.fail(LoadError(.ioFailed, message: "the source broke"))
        let error = try await #require(throws: LoadError.self) { try await Self.allBytes(of: pipe.body()) }
        #expect(error.code == .ioFailed)
    }

    @Test func asyncSequenceCanBeABody() async throws {
        let chunks = AsyncStream<[UInt8]> { continuation in
            for number in 0..<50 { continuation.yield([UInt8(number)]) }
            continuation.finish()
        }
        #expect(try await Self.allBytes(of: .stream(chunks, length: 50)) == Array(0..<50))
    }

    @Test(arguments: [(2, "longer than its declared length of 2 bytes"), (4, "ended after 3 of its 4 declared bytes")])
    func moreOrFewerBytesThanDeclaredFail(length: Int64, message: String) async throws {
        let pipe = BodyWriter()
        try await pipe.write([1, 2, 3])
        pipe.finish()
        let error = try await #require(throws: LoadError.self) { try await Self.allBytes(of: pipe.body(length: length)) }
        #expect(error.code == .bodyFailed)
        #expect(error.message.contains(message))
    }

    /// Reads a body in pieces of `size` bytes, and waits when the reader has no bytes yet.
    private static func allBytes(of body: Body, _ size: Int = 64) async throws -> [UInt8] {
        let reader = try body.makeReader()
        var bytes: [UInt8] = []
        while true {
            let (readySignals, readySource) = AsyncStream<Void>.makeStream()
            var buffer = [UInt8](repeating: 0, count: size)
            let (result, count) = read(reader, into: &buffer) {
                readySource.yield()
                readySource.finish()
            }
            switch result {
            case .bytes: bytes += buffer[..<count]
            case .end: return bytes
            case .failed(let error): throw error
            case .wait: for await _ in readySignals {}
            }
        }
    }

    private static func read(_ reader: any BodyReader, into buffer: inout [UInt8], whenReady: @escaping @Sendable () -> Void) -> (
        BodyRead, Int
    ) {
        unsafe buffer.withUnsafeMutableBytes { raw in
            var output = unsafe OutputRawSpan(buffer: raw, initializedCount: 0)
            let result = reader.read(into: &output, whenReady: whenReady)
            return (result, unsafe output.finalize(for: raw))
        }
    }
}
