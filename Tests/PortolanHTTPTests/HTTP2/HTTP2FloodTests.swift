// SPDX-License-Identifier: Apache-2.0

import HTTPTypes
import PortolanCore
import Testing

@testable import PortolanHTTP

/// Floods of useless frames (RFC 9113 §10.5).
@Suite struct HTTP2FloodTests {
    private typealias Frames = ServerFrames

    private static let ok = [(":status", "200")]

    struct Flood: Sendable, CustomTestStringConvertible {
        let testDescription: String
        let frame: [UInt8]
    }

    private static let floods = [
        Flood(testDescription: "WINDOW_UPDATE", frame: Frames.windowUpdate(1, stream: 0)),
        Flood(testDescription: "WINDOW_UPDATE of a stream", frame: Frames.windowUpdate(1, stream: 1)),
        Flood(testDescription: "GOAWAY", frame: Frames.goAway(last: 1)),
        Flood(testDescription: "an unknown type", frame: Frames.frame(0x88)),
        Flood(testDescription: "an unknown type with a payload", frame: Frames.frame(0x88, stream: 1, [UInt8](repeating: 1, count: 100))),
        Flood(testDescription: "ALTSVC", frame: Frames.frame(10, [0, 0] + Array("h2=\":443\"".utf8))),
        Flood(testDescription: "ORIGIN", frame: Frames.frame(12)),
        Flood(testDescription: "PRIORITY", frame: Frames.frame(2, stream: 1, [0, 0, 0, 0, 1])),
        Flood(testDescription: "PRIORITY of an idle stream", frame: Frames.frame(2, stream: 99, [0, 0, 0, 0, 1])),
        Flood(testDescription: "PING", frame: Frames.frame(6, [1, 2, 3, 4, 5, 6, 7, 8])),
        Flood(testDescription: "PING with ACK", frame: Frames.frame(6, flags: 1, [1, 2, 3, 4, 5, 6, 7, 8])),
        Flood(testDescription: "SETTINGS", frame: Frames.settings()),
        Flood(testDescription: "empty DATA", frame: Frames.data("")),
        Flood(testDescription: "DATA that contains only padding", frame: Frames.padded("", padding: 255)),
        Flood(testDescription: "RST_STREAM of a stream that has ended", frame: Frames.reset(8, stream: 3)),
        Flood(testDescription: "HEADERS of a stream that has ended", frame: Frames.headers(ok, stream: 3, endsStream: true)),
        Flood(testDescription: "DATA of a stream that has ended", frame: Frames.data("x", stream: 3)),
    ]

    /// A server with one load in the middle of its response, and one stream that has ended.
    private func serverDuringAResponse() throws -> (HTTP2ConnectionFixture, RecordingTransaction) {
        let server = try HTTP2ConnectionFixture()
        let (transaction, other) = (try RecordingTransaction(), try RecordingTransaction())
        server.start(transaction)
        server.start(other)
        server.send(Frames.headers(Self.ok) + Frames.headers(Self.ok, stream: 3, endsStream: true))
        return (server, transaction)
    }

    @Test(arguments: floods) func aFloodEndsTheConnection(_ flood: Flood) throws {
        let (server, transaction) = try serverDuringAResponse()
        server.send([[UInt8]](repeating: flood.frame, count: 1200).flatMap { $0 })
        #expect(transaction.error?.code == .limitExceeded, "\(String(describing: transaction.error))")
        #expect(transaction.eligibility == .possiblyProcessed)
        #expect(server.goAwayCode == 11)
        #expect(!server.isOpen)
    }

    /// After a GOAWAY, each acknowledgement of a PING is written immediately, even if the server reads nothing.
    @Test(arguments: [true, false]) func pingsOfAServerThatReadsNothingEndTheConnection(sendsGoAway: Bool) throws {
        let (server, transaction) = try serverDuringAResponse()
        if sendsGoAway { server.send(Frames.goAway(last: Int(Int32.max))) }
        server.transport.isWritable = false
        let ping = Frames.frame(6, [1, 2, 3, 4, 5, 6, 7, 8])
        var sentByteCount = 0
        while transaction.endCount == 0, sentByteCount < 1 << 20 {
            let bytes = Frames.data("x") + ping + ping
            server.send(bytes)
            sentByteCount += bytes.count
        }
        #expect(transaction.error?.code == .limitExceeded, "\(String(describing: transaction.error)) after \(sentByteCount) bytes")
        #expect(!server.isOpen)
    }

    /// A connection that stays open for a long time can receive many PING frames in total.
    @Test func fewFramesAtATimeAreAllowed() throws {
        let (server, transaction) = try serverDuringAResponse()
        for _ in 0..<100 {
            server.send([[UInt8]](repeating: Frames.frame(6, [1, 2, 3, 4, 5, 6, 7, 8]), count: 900).flatMap { $0 })
            server.advance(by: .seconds(30))
        }
        server.send(Frames.data("end", endsStream: true))
        #expect(transaction.events.last == .end)
    }

    @Test func longDownloadAllowsAnyNumberOfControlFrames() throws {
        let (server, transaction) = try serverDuringAResponse()
        for _ in 0..<10_000 {
            server.send(Frames.data("content") + Frames.frame(6, [1, 2, 3, 4, 5, 6, 7, 8]) + Frames.windowUpdate(1, stream: 0))
        }
        server.send(Frames.data("", endsStream: true))
        #expect(transaction.events.last == .end)
        #expect(transaction.bytes.count == 70_000)
    }

    @Test func longUploadAllowsAnyNumberOfWindowUpdates() throws {
        let server = try HTTP2ConnectionFixture()
        // A larger body would wait for a 100 response.
        let body = [UInt8](repeating: 5, count: 1 << 20)
        let transaction = try RecordingTransaction(.put, body: .bytes(body))
        server.start(transaction)
        while server.body().count < body.count {
            server.send(Frames.windowUpdate(1024, stream: 0) + Frames.windowUpdate(1024, stream: 1))
            try #require(server.isOpen, "\(String(describing: transaction.error))")
        }
        #expect(transaction.events.last == .requestSent)
    }

    /// Empty DATA frames count only if they follow one another.
    @Test func emptyDataFramesBetweenContentAreAllowed() throws {
        let (server, transaction) = try serverDuringAResponse()
        for _ in 0..<2000 { server.send(Frames.data("x") + Frames.data("")) }
        let empty = [[UInt8]](repeating: Frames.data(""), count: HTTP2FloodLimit.emptyFrameLimit)
        server.send(Frames.data("x") + empty.flatMap { $0 } + Frames.data("", endsStream: true))
        #expect(transaction.events.last == .end)
        #expect(transaction.bytes.count == 2001)
    }

    @Test func contentBeforeAFloodIsDelivered() throws {
        let (server, transaction) = try serverDuringAResponse()
        server.send(Frames.data("all of it", endsStream: true) + [[UInt8]](repeating: Frames.frame(0x88), count: 1200).flatMap { $0 })
        #expect(transaction.text == "all of it")
        #expect(transaction.events.last == .end)
        #expect(server.goAwayCode == 11)
    }

    // MARK: The frame scanner

    private static let frames =
        Frames.settings([(3, 5)]) + Frames.headers(ok) + Frames.data("hello") + Frames.padded("hello", padding: 7)
        + Frames.padded("", padding: 0) + Frames.data("")
        + Frames.frame(0, flags: 8, stream: 1) + Frames.reset(8, stream: 0x7FFF_FFFF)
        + Frames.data([UInt8](repeating: 1, count: 70_000), endsStream: true)

    private func scan(_ pieces: [[UInt8]]) -> [HTTP2FrameScanner.ScannedFrame] {
        var scanner = HTTP2FrameScanner()
        var found: [HTTP2FrameScanner.ScannedFrame] = []
        for piece in pieces {
            var offset = 0
            while let next = unsafe scanner.next(in: piece.span.bytes, from: &offset) { found.append(next) }
        }
        return found
    }

    @Test func framesAreFoundInPiecesOfAnySize() {
        let expectedFrames = scan([Self.frames])
        #expect(expectedFrames.map(\.frame.type.rawValue) == [4, 1, 0, 0, 0, 0, 0, 3, 0])
        #expect(expectedFrames.filter { $0.frame.type == .data }.map(\.contentLength) == [5, 5, 0, 0, 0, 70_000])
        #expect(expectedFrames[7].frame.stream == 0x7FFF_FFFF)
        #expect(expectedFrames[1].start == 15 && expectedFrames[0].start == 0)
        for size in [1, 2, 9, 10, 100] {
            let pieces = stride(from: 0, to: Self.frames.count, by: size).map { Array(Self.frames[$0...].prefix(size)) }
            let found = scan(pieces)
            #expect(found.map(\.frame) == expectedFrames.map(\.frame))
            #expect(found.map(\.contentLength) == expectedFrames.map(\.contentLength))
        }
    }
}
