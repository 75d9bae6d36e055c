// SPDX-License-Identifier: Apache-2.0

import HTTPTypes
import PortolanCore
import Testing

@testable import PortolanHTTP

/// The bytes that a connection receives and sends.
@Suite struct HTTP2BytesTests {
    private typealias Frames = ServerFrames

    private static let ok = [(":status", "200")]
    private static let name = "x-name"

    private static func field(_ value: [UInt8]) throws -> HTTPField {
        HTTPField(name: try #require(HTTPField.Name(name)), lenientValue: value)
    }

    // MARK: Fields

    @Test(arguments: [16_000, 20_000, 70_000, 1_000_000]) func largeRequestsTakeSeveralFrames(_ count: Int) throws {
        let server = try HTTP2ConnectionFixture()
        let otherTransaction = try RecordingTransaction()
        server.start(otherTransaction)
        // Huffman coding does not make a value of tildes smaller.
        let value = [UInt8](repeating: UInt8(ascii: "~"), count: count)
        let transaction = try RecordingTransaction(fields: HTTPFields([try Self.field(value)]))
        server.start(transaction)
        let frames = server.frames.filter { $0.stream == 3 }
        #expect(frames.map(\.type) == [1] + [UInt8](repeating: 9, count: frames.count - 1))
        #expect(frames.count == (count + 16_383 + 30) / 16_384 && frames.allSatisfy { $0.payload.count <= 16_384 })
        _ = try server.fields(stream: 1)
        // The decoder of the test is nghttp2's, which accepts no more than 64 KiB.
        if count < 65_000 { #expect(try server.fields(stream: 3).last?.value == value) }
        server.send(Frames.headers(Self.ok, endsStream: true) + Frames.headers(Self.ok, stream: 3, endsStream: true))
        #expect(otherTransaction.events.last == .end && transaction.events.last == .end)
    }

    @Test func oversizedRequestFailsWithoutTheOtherRequests() throws {
        let server = try HTTP2ConnectionFixture()
        let otherTransaction = try RecordingTransaction()
        server.start(otherTransaction)
        let transaction = try RecordingTransaction(fields: HTTPFields([try Self.field([UInt8](repeating: 0x61, count: 17 << 20))]))
        server.start(transaction)
        #expect(transaction.error?.code == .badRequest)
        #expect(transaction.eligibility == .possiblyProcessed && transaction.endCount == 1)
        let next = try RecordingTransaction()
        server.start(next)
        server.send(Frames.headers(Self.ok, endsStream: true) + Frames.headers(Self.ok, stream: 5, endsStream: true))
        #expect(otherTransaction.events.last == .end && next.events.last == .end)
        #expect(server.connection.availableStreamCount == 100)
    }

    @Test(arguments: [[0xE9], [0xFF, 0x80], Array("é".utf8), [0x61, 0xE9, 0x20, 0x62]] as [[UInt8]])
    func fieldValuesKeepTheirBytesInBothDirections(_ value: [UInt8]) throws {
        let server = try HTTP2ConnectionFixture()
        let transaction = try RecordingTransaction(fields: HTTPFields([try Self.field(value)]))
        server.start(transaction)
        #expect(try server.fields().last?.value == value)
        server.send(Frames.section(Frames.fields(Self.ok) + Frames.field(Self.name, value), endsStream: true))
        let received = unsafe transaction.fields.first { $0.name.rawName == Self.name }?.withUnsafeBytesOfValue { unsafe Array($0) }
        #expect(received == value)
    }

    /// The client drops fields beyond the limit, but must decode them, because they change HPACK's dynamic table.
    @Test func hpackTableStaysInSyncAfterFieldsBeyondALimit() throws {
        let server = try HTTP2ConnectionFixture()
        let (transaction, next) = (try RecordingTransaction(), try RecordingTransaction())
        server.start(transaction)
        server.start(next)
        let large = (0..<300).flatMap { _ in Frames.field("a", [UInt8](repeating: 0x62, count: 1000)) }
        server.send(Frames.section(Frames.fields(Self.ok) + large + Frames.field("x-kept", Array("yes".utf8), isIndexed: true)))
        #expect(transaction.error?.code == .limitExceeded)
        #expect(server.resetCode() == 1)
        server.send(Frames.frame(1, flags: 5, stream: 3, Frames.fields(Self.ok) + [0xBE]))
        #expect(next.fields.first?.name.rawName == "x-kept" && next.fields.first?.value == "yes")
        #expect(server.isOpen)
    }

    // MARK: Whether the server can have processed a request

    struct Violation: Sendable, CustomTestStringConvertible {
        let testDescription: String
        let bytes: [UInt8]
    }

    private static let violations = [
        Violation(
            testDescription: "a head that HPACK can't decode", bytes: Frames.frame(1, flags: 4, stream: 1, Frames.fields(ok) + [0x80])),
        Violation(
            testDescription: "a head without its end",
            bytes: Frames.frame(1, stream: 1, Frames.fields(ok)) + Frames.frame(6, [1, 2, 3, 4, 5, 6, 7, 8])),
        Violation(
            testDescription: "padding that is longer than the HEADERS frame",
            bytes: Frames.frame(1, flags: 12, stream: 1, [9] + Frames.fields(ok))),
        Violation(
            testDescription: "padding that is longer than the DATA frame", bytes: Frames.frame(0, flags: 8, stream: 1, [9, 0x61, 0x62])),
        Violation(testDescription: "a head and a ping of one byte", bytes: Frames.headers(ok) + Frames.frame(6, [1])),
        Violation(testDescription: "a ping of one byte", bytes: Frames.frame(6, [1])),
        Violation(testDescription: "a push", bytes: Frames.frame(5, flags: 4, stream: 1, Frames.number(2) + [0x82, 0x87, 0x84])),
        Violation(
            testDescription: "a flood of PING frames",
            bytes: [[UInt8]](repeating: Frames.frame(6, [1, 2, 3, 4, 5, 6, 7, 8]), count: 3000).flatMap { $0 }),
        Violation(
            testDescription: "a head without its end, then a refusal",
            bytes: Frames.frame(1, stream: 1, Frames.fields(ok)) + Frames.reset(7)),
        Violation(
            testDescription: "a head without its end, then a GOAWAY",
            bytes: Frames.frame(1, stream: 1, Frames.fields(ok)) + Frames.goAway(last: 0)),
    ]

    /// The other requests of the connection are not sent again either, because the server can have processed them.
    @Test(arguments: violations) func noRequestIsSentAgainAfterAViolation(_ violation: Violation) throws {
        let server = try HTTP2ConnectionFixture()
        let (transaction, other) = (try RecordingTransaction(), try RecordingTransaction())
        server.start(transaction)
        server.start(other)
        server.send(violation.bytes)
        server.endConnection()
        #expect(transaction.eligibility == .possiblyProcessed && transaction.endCount == 1)
        #expect(other.endCount == 1)
    }

    /// The client ends the connection for the PING of one byte, and not for the later flood.
    @Test(arguments: [false, true]) func firstViolationAfterGoAwayEndsTheConnection(isByteByByte: Bool) throws {
        let server = try HTTP2ConnectionFixture()
        let transaction = try RecordingTransaction()
        server.start(transaction)
        let pings = [[UInt8]](repeating: Frames.frame(6, [1, 2, 3, 4, 5, 6, 7, 8]), count: 1200).flatMap { $0 }
        let bytes = Frames.goAway(last: 1) + Frames.frame(6, [1]) + pings
        if isByteByByte { server.sendByteByByte(bytes) } else { server.send(bytes) }
        #expect(transaction.endCount == 1 && transaction.eligibility == .possiblyProcessed)
        #expect(transaction.error?.code == .badResponse)
        #expect(server.goAwayCode == 6, "FRAME_SIZE_ERROR (6) of the PING, not the code of the later flood")
    }

    /// RFC 9113 §5.1: WINDOW_UPDATE can arrive on a closed stream. nghttp2 treats a stream as open until its reset has
    /// been sent.
    @Test(arguments: [false, true]) func framesOnAResetStreamDoNotEndTheConnection(isByteByByte: Bool) throws {
        let server = try HTTP2ConnectionFixture()
        let (transaction, other) = (try RecordingTransaction(), try RecordingTransaction())
        server.start(transaction)
        server.start(other)
        let bytes =
            Frames.headers([(":status", "none")]) + Frames.windowUpdate(0, stream: 1) + Frames.headers(Self.ok, stream: 3, endsStream: true)
        if isByteByByte { server.sendByteByByte(bytes) } else { server.send(bytes) }
        #expect(transaction.error?.code == .badResponse && transaction.endCount == 1)
        #expect(other.events.last == .end && other.error == nil)
        #expect(server.isOpen)
    }

    /// Once the nine-byte header of the first response frame has arrived, the server can have processed the request.
    @Test func requestIsPossiblyProcessedOnceItsResponseHasBegun() throws {
        let head = Frames.headers(Self.ok)
        for count in 9..<head.count {
            let server = try HTTP2ConnectionFixture()
            let transaction = try RecordingTransaction()
            server.start(transaction)
            server.send(Array(head.prefix(count)))
            server.endConnection()
            #expect(transaction.eligibility == .possiblyProcessed, "\(count) of \(head.count) bytes")
            #expect(transaction.error?.code == .connectionLost)
        }
    }

    // MARK: Output

    @Test func framesOfOneLoopIterationAreSentInOneWrite() throws {
        let server = try HTTP2ConnectionFixture()
        let countBefore = server.transport.writes.count
        for _ in 0..<20 { server.connection.beginTransaction(try RecordingTransaction()).sendRequest() }
        #expect(server.transport.writes.count == countBefore)
        server.read()
        #expect(server.transport.writes.count == countBefore + 1)
        #expect(server.frames.count { $0.type == 1 } == 20)
    }

    @Test func bodyIsNotReadWhileTheTransportIsFull() throws {
        let server = try HTTP2ConnectionFixture()
        server.send(Frames.settings([(4, 1 << 20)]) + Frames.windowUpdate(1 << 20, stream: 0))
        let body = [UInt8](repeating: 5, count: 500_000)
        let transaction = try RecordingTransaction(.put, body: .bytes(body))
        server.transport.isWritable = false
        server.start(transaction)
        server.send(Frames.frame(6, [1, 2, 3, 4, 5, 6, 7, 8]))
        #expect(!server.frames.contains { $0.type == 1 || $0.type == 6 })
        #expect(transaction.upload?.hasStartedReading == false && transaction.events.isEmpty)
        server.transport.isWritable = true
        server.read()
        #expect(server.body() == body)
        #expect(transaction.events.last == .requestSent)
        #expect(server.transport.writes.allSatisfy { $0.count <= HTTP2Connection.Sending.writeSize + 16_393 })
    }

    /// A violation fails the loads of the connection even if the server reads nothing.
    @Test(arguments: violations) func violationFailsTheLoadWhileTheTransportIsFull(_ violation: Violation) throws {
        let server = try HTTP2ConnectionFixture()
        let transaction = try RecordingTransaction(.put, body: .bytes([UInt8](repeating: 1, count: 1 << 20)))
        server.start(transaction)
        server.transport.isWritable = false
        server.send(violation.bytes)
        #expect(transaction.eligibility == .possiblyProcessed && transaction.endCount == 1)
    }

    @Test func bodyThatFillsTheWindowEndsWithItsLastDataFrame() throws {
        let server = try HTTP2ConnectionFixture()
        let transaction = try RecordingTransaction(.put, body: .bytes([UInt8](repeating: 5, count: 65_535)))
        server.start(transaction)
        #expect(server.body().count == 65_535)
        #expect(server.frames.last?.endsStream == true)
        #expect(transaction.events.last == .requestSent)
    }

    /// RFC 9218 §2.1: this client sends no priorities of RFC 7540.
    @Test func prioritiesOfRFC7540AreNotUsed() throws {
        let server = try HTTP2ConnectionFixture()
        server.start(try RecordingTransaction())
        let settings = try #require(server.frames.first { $0.type == 4 && $0.flags == 0 })
        #expect(stride(from: 0, to: settings.payload.count, by: 6).contains { Array(settings.payload[$0..<$0 + 6]) == [0, 9, 0, 0, 0, 1] })
        #expect(server.frames.allSatisfy { $0.type != 2 && ($0.type != 1 || $0.flags & 0x20 == 0) })
    }
}
