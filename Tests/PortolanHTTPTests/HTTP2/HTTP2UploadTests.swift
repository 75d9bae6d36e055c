// SPDX-License-Identifier: Apache-2.0

import HTTPTypes
import PortolanCore
import Testing

@testable import PortolanHTTP

/// Request bodies over HTTP/2.
@Suite struct HTTP2UploadTests {
    private static let ok = [(":status", "200")]

    @Test func bodyEndsWithTheEndStreamFlag() throws {
        let server = try HTTP2ConnectionFixture()
        let transaction = try RecordingTransaction(.put, body: .bytes(Array("hello".utf8)))
        server.start(transaction)
        #expect(server.body() == Array("hello".utf8))
        #expect(server.frames.last?.endsStream == true)
        #expect(transaction.events == [.sent(5), .requestSent])
        server.send(ServerFrames.headers(Self.ok, endsStream: true))
        #expect(transaction.events.last == .end)
        #expect(server.resetCode() == nil)
        #expect(transaction.report.map { $0.bytesSent > 5 } == true)
    }

    @Test func emptyBodyNeedsNoDataFrame() throws {
        let server = try HTTP2ConnectionFixture()
        let transaction = try RecordingTransaction(.put, body: .bytes([]))
        server.start(transaction)
        #expect(server.frames.contains { $0.type == 1 && $0.endsStream })
        #expect(!server.frames.contains { $0.type == 0 })
    }

    /// The client sends no more of the body than the server's window allows.
    @Test func aBodyWaitsForTheServersWindow() throws {
        let server = try HTTP2ConnectionFixture()
        let body = [UInt8](repeating: 5, count: 1 << 20)
        let transaction = try RecordingTransaction(.put, body: .bytes(body))
        server.start(transaction)
        #expect(server.body().count == 65_535)
        let sentByteCount = transaction.events.reduce(0) { if case .sent(let count) = $1 { $0 + count } else { $0 } }
        #expect(sentByteCount <= 65_535)
        while server.body().count < body.count {
            let countBefore = server.body().count
            server.send(ServerFrames.windowUpdate(100_000, stream: 0) + ServerFrames.windowUpdate(100_000, stream: 1))
            try #require(server.body().count > countBefore)
        }
        #expect(server.body() == body)
        #expect(transaction.events.last == .requestSent)
    }

    @Test func bodyWaitsFor100Continue() throws {
        let server = try HTTP2ConnectionFixture()
        let transaction = try RecordingTransaction(.put, fields: [.expect: "100-continue"], body: .bytes([1]))
        server.start(transaction)
        #expect(server.body().isEmpty)
        server.send(ServerFrames.headers([(":status", "100")]))
        #expect(server.body() == [1])
        #expect(transaction.events == [.interim(100), .sent(1), .requestSent])
    }

    @Test func bodyIsSentAfterTheExpectationTimeout() throws {
        let server = try HTTP2ConnectionFixture()
        let transaction = try RecordingTransaction(.put, fields: [.expect: "100-continue"], body: .bytes([1]))
        server.start(transaction)
        server.advance(by: .seconds(2))
        server.read()
        #expect(server.body() == [1])
    }

    @Test func bodyIsNotSentAfterA417() throws {
        let server = try HTTP2ConnectionFixture()
        let transaction = try RecordingTransaction(.put, fields: [.expect: "100-continue"], body: .bytes([1]))
        server.start(transaction)
        server.send(ServerFrames.headers([(":status", "417")], endsStream: true))
        server.advance(by: .seconds(2))
        server.read()
        #expect(transaction.events == [.response(417, length: 0), .end])
        #expect(server.body().isEmpty)
        #expect(server.resetCode() == 0)
    }

    /// A server can respond before it has received the whole body, and then reset the stream with NO_ERROR
    /// (RFC 9113 §8.1).
    @Test func earlyResponseEndsTheUpload() throws {
        let server = try HTTP2ConnectionFixture()
        let transaction = try RecordingTransaction(.put, body: .bytes([UInt8](repeating: 5, count: 1 << 20)))
        server.start(transaction)
        server.send(ServerFrames.headers([(":status", "413")]) + ServerFrames.data("too much", endsStream: true) + ServerFrames.reset(0))
        #expect(transaction.text == "too much")
        #expect(transaction.events.last == .end)
        #expect(server.resetCode() == 0)
        #expect(server.connection.availableStreamCount == 100)
        let sentByteCount = server.body().count
        server.send(ServerFrames.windowUpdate(100_000, stream: 0))
        #expect(server.body().count == sentByteCount)
    }

    @Test func aBodyThatFailsResetsTheStream() throws {
        let server = try HTTP2ConnectionFixture()
        let failing = Body(length: 10, isRewindable: false) { FailingReader() }
        let transaction = try RecordingTransaction(.put, body: failing)
        server.start(transaction)
        #expect(transaction.error?.code == .bodyFailed)
        #expect(server.resetCode() == 2)
    }

    private final class FailingReader: BodyReader {
        func read(into output: inout OutputRawSpan, whenReady: @escaping @Sendable () -> Void) -> BodyRead {
            .failed(LoadError(.bodyFailed, message: "no more"))
        }
        func close() {}
    }
}
