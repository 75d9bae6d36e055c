// SPDX-License-Identifier: Apache-2.0

import HTTPTypes
import PortolanCore
import Testing

@testable import PortolanHTTP

/// Floods of frames without use: RFC 9113 §10.5.
@Suite struct HTTP2FloodTests {
    private typealias F = ServerFrames

    private static let ok = [(":status", "200")]

    struct Flood: Sendable, CustomTestStringConvertible {
        let testDescription: String
        let frame: [UInt8]
    }

    private static let floods = [
        Flood(testDescription: "WINDOW_UPDATE", frame: F.windowUpdate(1, stream: 0)),
        Flood(testDescription: "WINDOW_UPDATE of a stream", frame: F.windowUpdate(1, stream: 1)),
        Flood(testDescription: "GOAWAY", frame: F.goAway(last: 1)),
        Flood(testDescription: "an unknown type", frame: F.frame(0x88)),
        Flood(testDescription: "an unknown type with a payload", frame: F.frame(0x88, stream: 1, [UInt8](repeating: 1, count: 100))),
        Flood(testDescription: "ALTSVC", frame: F.frame(10, [0, 0] + Array("h2=\":443\"".utf8))),
        Flood(testDescription: "ORIGIN", frame: F.frame(12)),
        Flood(testDescription: "PRIORITY", frame: F.frame(2, stream: 1, [0, 0, 0, 0, 1])),
        Flood(testDescription: "PRIORITY of an idle stream", frame: F.frame(2, stream: 99, [0, 0, 0, 0, 1])),
        Flood(testDescription: "PING", frame: F.frame(6, [1, 2, 3, 4, 5, 6, 7, 8])),
        Flood(testDescription: "PING that acknowledges", frame: F.frame(6, flags: 1, [1, 2, 3, 4, 5, 6, 7, 8])),
        Flood(testDescription: "SETTINGS", frame: F.settings()),
        Flood(testDescription: "empty DATA", frame: F.data("")),
        Flood(testDescription: "DATA of padding alone", frame: F.padded("", padding: 255)),
        Flood(testDescription: "RST_STREAM of a stream that is over", frame: F.reset(8, stream: 3)),
        Flood(testDescription: "HEADERS of a stream that is over", frame: F.headers(ok, stream: 3, ends: true)),
        Flood(testDescription: "DATA of a stream that is over", frame: F.data("x", stream: 3)),
    ]

    /// A server with one load in the middle of its response, and one stream that has ended.
    private func serverDuringAResponse() throws -> (EmbeddedServer, RecordingTransaction) {
        let server = try EmbeddedServer()
        let (transaction, other) = (try RecordingTransaction(), try RecordingTransaction())
        server.start(transaction)
        server.start(other)
        server.send(F.headers(Self.ok) + F.headers(Self.ok, stream: 3, ends: true))
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

    /// After a GOAWAY, each response to the server is written immediately, also if the server reads nothing.
    @Test(arguments: [true, false]) func pingsOfAServerThatReadsNothingEndTheConnection(sendsGoAway: Bool) throws {
        let (server, transaction) = try serverDuringAResponse()
        if sendsGoAway { server.send(F.goAway(last: Int(Int32.max))) }
        server.transport.isWritable = false
        let ping = F.frame(6, [1, 2, 3, 4, 5, 6, 7, 8])
        var sent = 0
        while transaction.endCount == 0, sent < 1 << 20 {
            let bytes = F.data("x") + ping + ping
            server.send(bytes)
            sent += bytes.count
        }
        #expect(transaction.error?.code == .limitExceeded, "\(String(describing: transaction.error)) after \(sent) bytes")
        #expect(!server.isOpen)
    }

    /// A connection that is open for a long time receives such frames.
    @Test func fewFramesAtATimeAreAllowed() throws {
        let (server, transaction) = try serverDuringAResponse()
        for _ in 0..<100 {
            server.send([[UInt8]](repeating: F.frame(6, [1, 2, 3, 4, 5, 6, 7, 8]), count: 900).flatMap { $0 })
            server.advance(by: .seconds(30))
        }
        server.send(F.data("end", ends: true))
        #expect(transaction.events.last == .end)
    }

    @Test func longDownloadAllowsAnyNumberOfControlFrames() throws {
        let (server, transaction) = try serverDuringAResponse()
        for _ in 0..<10_000 {
            server.send(F.data("content") + F.frame(6, [1, 2, 3, 4, 5, 6, 7, 8]) + F.windowUpdate(1, stream: 0))
        }
        server.send(F.data("", ends: true))
        #expect(transaction.events.last == .end)
        #expect(transaction.bytes.count == 70_000)
    }

    @Test func longUploadAllowsAnyNumberOfWindowUpdates() throws {
        let server = try EmbeddedServer()
        // Not larger than a body that is sent without waiting for 100.
        let body = [UInt8](repeating: 5, count: 1 << 20)
        let transaction = try RecordingTransaction(.put, body: .bytes(body))
        server.start(transaction)
        while server.body().count < body.count {
            server.send(F.windowUpdate(1024, stream: 0) + F.windowUpdate(1024, stream: 1))
            try #require(server.isOpen, "\(String(describing: transaction.error))")
        }
        #expect(transaction.events.last == .requestSent)
    }

    /// Empty DATA frames count only if they follow one another.
    @Test func emptyDataFramesBetweenContentAreAllowed() throws {
        let (server, transaction) = try serverDuringAResponse()
        for _ in 0..<2000 { server.send(F.data("x") + F.data("")) }
        let empty = [[UInt8]](repeating: F.data(""), count: HTTP2FloodLimit.emptyFrames)
        server.send(F.data("x") + empty.flatMap { $0 } + F.data("", ends: true))
        #expect(transaction.events.last == .end)
        #expect(transaction.bytes.count == 2001)
    }

    @Test func contentBeforeAFloodIsDelivered() throws {
        let (server, transaction) = try serverDuringAResponse()
        server.send(F.data("all of it", ends: true) + [[UInt8]](repeating: F.frame(0x88), count: 1200).flatMap { $0 })
        #expect(transaction.text == "all of it")
        #expect(transaction.events.last == .end)
        #expect(server.goAwayCode == 11)
    }

    // MARK: Finding the frames

    private static let frames =
        F.settings([(3, 5)]) + F.headers(ok) + F.data("hello") + F.padded("hello", padding: 7) + F.padded("", padding: 0) + F.data("")
        + F.frame(0, flags: 8, stream: 1) + F.reset(8, stream: 0x7FFF_FFFF) + F.data([UInt8](repeating: 1, count: 70_000), ends: true)

    private func scan(_ pieces: [[UInt8]]) -> [HTTP2FrameScanner.Found] {
        var scanner = HTTP2FrameScanner()
        var found: [HTTP2FrameScanner.Found] = []
        for piece in pieces {
            var offset = 0
            while let next = unsafe scanner.next(in: piece.span.bytes, from: &offset) { found.append(next) }
        }
        return found
    }

    @Test func framesAreFoundInPiecesOfAnySize() {
        let whole = scan([Self.frames])
        #expect(whole.map(\.frame.type.rawValue) == [4, 1, 0, 0, 0, 0, 0, 3, 0])
        #expect(whole.filter { $0.frame.type == .data }.map(\.contentLength) == [5, 5, 0, 0, 0, 70_000])
        #expect(whole[7].frame.stream == 0x7FFF_FFFF)
        #expect(whole[1].start == 15 && whole[0].start == 0)
        for size in [1, 2, 9, 10, 100] {
            let pieces = stride(from: 0, to: Self.frames.count, by: size).map { Array(Self.frames[$0...].prefix(size)) }
            let found = scan(pieces)
            #expect(found.map(\.frame) == whole.map(\.frame))
            #expect(found.map(\.contentLength) == whole.map(\.contentLength))
        }
    }
}
