// SPDX-License-Identifier: Apache-2.0

import HTTPTypes
import PortolanCore
import Testing

@testable import PortolanHTTP

/// Flow control: the windows that the client returns to the server.
@Suite struct HTTP2FlowTests {
    private static let head = [(":status", "200")]
    private static let piece = [UInt8](repeating: 7, count: 16 << 10)

    @Test func streamsStartWithTheAnnouncedWindow() throws {
        let server = try HTTP2ConnectionFixture()
        server.start(try RecordingTransaction())
        let settings = try #require(server.frames.first { $0.type == 4 && $0.flags == 0 })
        try #require(settings.payload.count % 6 == 0)
        var values: [UInt8: Int] = [:]
        for start in stride(from: 0, to: settings.payload.count, by: 6) {
            values[settings.payload[start + 1]] = settings.payload[start + 2..<start + 6].reduce(0) { $0 << 8 | Int($1) }
        }
        #expect(values[2] == 0)
        #expect(values[4] == HTTP2ReceiveWindow.streamStart)
        #expect(server.windowIncrement(stream: 0) == HTTP2ReceiveWindow.connection - 65_535)
    }

    /// A server uses windows of 65,535 bytes until it acknowledges the client's settings (RFC 9113 §6.5.3).
    @Test func serverThatNeverAcknowledgesSettingsCanContinueToSend() throws {
        let server = try HTTP2ConnectionFixture(sendsSettings: false)
        server.send(ServerFrames.settings())
        let transaction = try RecordingTransaction()
        server.start(transaction)
        server.send(ServerFrames.headers(Self.head))
        for count in 1...64 {
            #expect(server.windowIncrement(stream: 1) + 65_535 >= count * Self.piece.count)
            server.send(ServerFrames.data(Self.piece))
        }
        #expect(transaction.bytes.count == 64 * Self.piece.count)
        #expect(server.windowIncrement(stream: 1) <= 64 * Self.piece.count)
    }

    @Test func pausedStreamSendsNoWindowUpdate() throws {
        let server = try HTTP2ConnectionFixture()
        let transaction = try RecordingTransaction()
        let stream = server.start(transaction)
        transaction.flow = .pause
        server.send(ServerFrames.headers(Self.head))
        for _ in 0..<(HTTP2ReceiveWindow.streamStart / Self.piece.count) { server.send(ServerFrames.data(Self.piece)) }
        #expect(server.windowIncrement(stream: 1) == 0)
        #expect(transaction.bytes.isEmpty)

        transaction.flow = .keepGoing
        stream.resumeReading()
        server.read()
        #expect(transaction.bytes.count == HTTP2ReceiveWindow.streamStart)
        #expect(server.windowIncrement(stream: 1) >= HTTP2ReceiveWindow.streamStart)
        server.send(ServerFrames.data("end", endsStream: true))
        #expect(transaction.events.last == .end)
    }

    @Test func dataBeyondTheWindowIsAStreamError() throws {
        let server = try HTTP2ConnectionFixture()
        let transaction = try RecordingTransaction()
        let stream = server.start(transaction)
        transaction.flow = .pause
        server.send(ServerFrames.headers(Self.head))
        for _ in 0...(HTTP2ReceiveWindow.streamStart / Self.piece.count) { server.send(ServerFrames.data(Self.piece)) }
        #expect(server.resetCode() == 3)
        transaction.flow = .keepGoing
        stream.resumeReading()
        #expect(transaction.bytes.count == HTTP2ReceiveWindow.streamStart)
        #expect(transaction.error?.code == .badResponse)
        #expect(transaction.endCount == 1)
    }

    /// The client returns the connection's window for buffered bytes immediately, so that other streams continue.
    @Test func pausedStreamDoesNotSlowOtherStreams() throws {
        let server = try HTTP2ConnectionFixture()
        let (paused, other) = (try RecordingTransaction(), try RecordingTransaction())
        paused.flow = .pause
        server.start(paused)
        server.start(other)
        server.send(ServerFrames.headers(Self.head) + ServerFrames.headers(Self.head, stream: 3))
        for _ in 0..<(HTTP2ReceiveWindow.streamStart / Self.piece.count) { server.send(ServerFrames.data(Self.piece)) }
        let total = 40 << 20
        for _ in 0..<(total / Self.piece.count) { server.send(ServerFrames.data(Self.piece, stream: 3)) }
        #expect(other.bytes.count == total)
        #expect(paused.bytes.isEmpty)
        let remainingWindow = server.windowIncrement(stream: 0) + 65_535 - total - HTTP2ReceiveWindow.streamStart
        #expect(remainingWindow >= HTTP2ReceiveWindow.connection / 2)
    }

    @Test func windowGrowsWhileTheClientReadsTheStream() throws {
        let server = try HTTP2ConnectionFixture()
        let transaction = try RecordingTransaction()
        server.start(transaction)
        server.send(ServerFrames.headers(Self.head))
        let total = 32 << 20
        for _ in 0..<(total / Self.piece.count) { server.send(ServerFrames.data(Self.piece)) }
        let remainingWindow = server.windowIncrement(stream: 1) + HTTP2ReceiveWindow.streamStart - total
        #expect(remainingWindow > HTTP2ReceiveWindow.streamLimit / 2)
        #expect(remainingWindow <= HTTP2ReceiveWindow.streamLimit)
    }

    /// The windows of 64 streams together stay within the limit for buffered bytes.
    @Test func sumOfAllWindowsIsLimited() throws {
        let server = try HTTP2ConnectionFixture()
        let transactions = try (0..<64).map { _ in try RecordingTransaction() }
        var receivedByteCounts = [Int](repeating: 0, count: 64)
        for (index, transaction) in transactions.enumerated() {
            let stream = 2 * index + 1
            server.start(transaction)
            server.send(ServerFrames.headers(Self.head, stream: stream))
            for _ in 0..<(index < 6 ? 1024 : 64) {
                server.send(ServerFrames.data(Self.piece, stream: stream))
                receivedByteCounts[index] += Self.piece.count
            }
        }
        let remainingWindows = receivedByteCounts.enumerated().reduce(0) {
            $0 + server.windowIncrement(stream: 2 * $1.offset + 1) + HTTP2ReceiveWindow.streamStart - $1.element
        }
        #expect(remainingWindows <= 64 * HTTP2ReceiveWindow.streamStart + HTTP2ReceiveWindow.growthLimit)
    }

    @Test func endedStreamReturnsItsWindowGrowth() throws {
        let server = try HTTP2ConnectionFixture()
        for index in 0..<20 {
            let transaction = try RecordingTransaction()
            let stream = 2 * index + 1
            server.start(transaction)
            server.send(ServerFrames.headers(Self.head, stream: stream))
            for _ in 0..<512 { server.send(ServerFrames.data(Self.piece, stream: stream)) }
            server.send(index % 2 == 0 ? ServerFrames.data("", stream: stream, endsStream: true) : ServerFrames.reset(8, stream: stream))
            #expect(transaction.endCount == 1)
        }
        #expect(server.connection.remainingWindowGrowth == HTTP2ReceiveWindow.growthLimit)
    }

    /// A server can send data immediately, and acknowledge the settings later.
    @Test func windowIsCorrectBeforeTheSettingsAreAcknowledged() throws {
        let server = try HTTP2ConnectionFixture(sendsSettings: false)
        server.send(ServerFrames.settings())
        let transaction = try RecordingTransaction()
        server.start(transaction)
        server.send(ServerFrames.headers(Self.head) + ServerFrames.data(Self.piece) + ServerFrames.settingsAcknowledgement)
        #expect(server.windowIncrement(stream: 1) == 0)
        server.send(ServerFrames.data("end", endsStream: true))
        #expect(transaction.events.last == .end)
    }

    /// Data on a cancelled stream still counts against the window of the connection.
    @Test func contentOfACancelledStreamIsCreditedToTheConnection() throws {
        let server = try HTTP2ConnectionFixture()
        let transaction = try RecordingTransaction()
        let stream = server.start(transaction)
        server.send(ServerFrames.headers(Self.head))
        stream.cancel()
        for _ in 0..<32 { server.send(ServerFrames.data(Self.piece)) }
        let next = try RecordingTransaction()
        server.start(next)
        server.send(ServerFrames.headers(Self.head, stream: 3))
        for _ in 0..<1024 { server.send(ServerFrames.data(Self.piece, stream: 3)) }
        #expect(next.bytes.count == 1024 * Self.piece.count)
        let remainingWindow = server.windowIncrement(stream: 0) + 65_535 - (1024 + 32) * Self.piece.count
        #expect(remainingWindow >= HTTP2ReceiveWindow.connection / 2)
    }
}
