// SPDX-License-Identifier: Apache-2.0

import HTTPTypes
import PortolanCore
import Testing

@testable import PortolanHTTP

/// The responses of the table ``HTTP2ResponseRow``, and their errors.
@Suite struct HTTP2ResponseTests {
    enum Delivery: CaseIterable { case whole, byteByByte }

    /// Starts a transaction, and sends it the frames of the row.
    private func run(_ row: HTTP2ResponseRow, _ delivery: Delivery) throws -> (HTTP2ConnectionFixture, RecordingTransaction) {
        let server = try HTTP2ConnectionFixture()
        let transaction = try RecordingTransaction(row.method)
        server.start(transaction)
        switch delivery {
        case .whole: server.send(row.frames)
        case .byteByByte: server.sendByteByByte(row.frames)
        }
        return (server, transaction)
    }

    @Test(arguments: HTTP2ResponseRow.validResponses, Delivery.allCases)
    func validResponsesAreDelivered(_ row: HTTP2ResponseRow, _ delivery: Delivery) throws {
        let (server, transaction) = try run(row, delivery)
        guard case .complete(let status, let body, let interim, let trailers) = row.outcome else { return }
        #expect(transaction.error == nil)
        #expect(transaction.events.last == .end)
        #expect(transaction.events.contains { if case .response(status, _) = $0 { true } else { false } })
        #expect(transaction.text == body)
        #expect(transaction.events.compactMap { if case .interim(let status) = $0 { status } else { nil } } == interim)
        #expect(transaction.trailers.map { Dictionary($0.map { ($0.name.rawName, $0.value) }) { "\($0), \($1)" } } ?? [:] == trailers)
        #expect(server.resetCode() == nil)
    }

    @Test(arguments: HTTP2ResponseRow.malformedResponses, Delivery.allCases)
    func malformedResponsesFailOnlyTheirStream(_ row: HTTP2ResponseRow, _ delivery: Delivery) throws {
        let (server, transaction) = try run(row, delivery)
        guard case .streamFails(let code, let rule) = row.outcome else { return }
        #expect(transaction.error?.code == code)
        #expect(transaction.endCount == 1)
        if let cause = transaction.error?.underlyingError { #expect((cause as? HTTP2ResponseError)?.rule == rule) }
        #expect(transaction.error?.message.contains(rule.problem) == true, "\(String(describing: transaction.error))")
        #expect(transaction.eligibility.map { if case .possiblyProcessed = $0 { true } else { false } } == true)

        let next = try RecordingTransaction()
        server.start(next)
        server.send(ServerFrames.headers([(":status", "200")], stream: 3, endsStream: true))
        #expect(next.events.last == .end)
    }

    /// The client sends RST_STREAM unless the server has already ended the stream.
    @Test(arguments: HTTP2ResponseRow.malformedResponses)
    func malformedResponsesAreResetIfTheirStreamIsOpen(_ row: HTTP2ResponseRow) throws {
        let (server, _) = try run(row, .whole)
        #expect((server.resetCode() != nil) == !row.endsStream)
    }

    @Test(arguments: HTTP2ResponseRow.connectionErrors, Delivery.allCases)
    func connectionErrorsFailTheirStreamsOnce(_ row: HTTP2ResponseRow, _ delivery: Delivery) throws {
        let server = try HTTP2ConnectionFixture()
        let transaction = try RecordingTransaction(row.method)
        server.start(transaction)
        switch delivery {
        case .whole: server.send(row.frames)
        case .byteByByte: server.sendByteByByte(row.frames)
        }
        guard case .connectionFails(let code, let http2Code) = row.outcome else { return }
        #expect(transaction.error?.code == code)
        #expect(transaction.endCount == 1)
        // The server can have processed the request: the bytes can be a response that the client could not parse.
        #expect(transaction.eligibility.map { if case .possiblyProcessed = $0 { true } else { false } } == true)
        #expect(server.goAwayCode == http2Code)
        #expect(!server.isOpen)
        #expect(server.connection.availableStreamCount == 0)
        server.endConnection()
        #expect(transaction.endCount == 1)
    }

    /// The message names the HTTP/2 error code that the server receives, and no error code of nghttp2.
    @Test(arguments: HTTP2ResponseRow.connectionErrors)
    func connectionErrorMessagesNameTheErrorCode(_ row: HTTP2ResponseRow) throws {
        let (server, transaction) = try run(row, .whole)
        let error = try #require(transaction.error)
        let name = HTTP2ErrorCode(rawValue: UInt32(try #require(server.goAwayCode))).name
        #expect(error.message.hasPrefix("https://example.org ") || error.message.hasPrefix("the fields of a response from "))
        #expect(error.message.contains(" (\(name), RFC ") && error.message.contains("); "), "\(error.message)")
        #expect(!error.description.contains("NGHTTP2"), "\(error)")
        #expect(!error.message.contains("broke a rule of HTTP/2"), "\(error.message)")
        // COMPRESSION_ERROR belongs to HPACK, and FRAME_SIZE_ERROR to the length of a frame.
        #expect((server.goAwayCode == 9 && error.code == .badResponse) == error.message.contains("HPACK"), "\(error.message)")
        #expect((server.goAwayCode == 6) == error.message.contains("length"), "\(error.message)")
    }

    @Test func streamErrorMessageNamesTheErrorCode() throws {
        let server = try HTTP2ConnectionFixture()
        let transaction = try RecordingTransaction(.put, body: .bytes([UInt8](repeating: 1, count: 100_000)))
        server.start(transaction)
        let update = ServerFrames.windowUpdate(0x7FFF_FFFF, stream: 1)
        server.send(update + update)
        #expect(server.resetCode() == 3)
        #expect(
            transaction.error?.description == "https://example.org set an invalid window size "
                + "(FLOW_CONTROL_ERROR, RFC 9113 §6.9.1); the server, or a proxy in front of it, must be fixed; ask for HTTP/1.1 meanwhile")
    }

    /// The transaction ends once, wherever the response is truncated.
    @Test(arguments: HTTP2ResponseRow.validResponses + HTTP2ResponseRow.malformedResponses)
    func truncatedResponsesFailOnce(_ row: HTTP2ResponseRow) throws {
        let step = max(1, row.frames.count / 60)
        for count in stride(from: 0, to: row.frames.count, by: step) {
            let server = try HTTP2ConnectionFixture()
            let transaction = try RecordingTransaction(row.method)
            server.start(transaction)
            server.send(Array(row.frames.prefix(count)))
            let endCountBeforeClose = transaction.endCount
            server.endConnection()
            #expect(transaction.endCount == 1)
            if endCountBeforeClose == 0 {
                #expect(transaction.error?.code == .connectionLost, "\(count) of \(row.frames.count) bytes")
            }
        }
    }

    @Test func bytesAndLengthsAreReported() throws {
        let server = try HTTP2ConnectionFixture()
        let transaction = try RecordingTransaction(path: "/a", fields: [.accept: "*/*"])
        server.start(transaction)
        server.send(
            ServerFrames.headers([(":status", "200"), ("content-length", "5"), ("x-a", "b")]) + ServerFrames.data("hello", endsStream: true)
        )
        #expect(transaction.events == [.requestSent, .response(200, length: 5), .data(5), .end])
        #expect(transaction.report?.bytesReceived == Int64("content-length: 5\r\nx-a: b\r\nhello".utf8.count))
        #expect(transaction.report?.networkProtocol == "h2")
        #expect(transaction.report?.isReused == false)
        let second = try RecordingTransaction()
        server.start(second)
        server.send(ServerFrames.headers([(":status", "204")], stream: 3, endsStream: true))
        #expect(second.report?.isReused == true)
    }

    @Test func headResponseReportsItsContentLength() throws {
        let server = try HTTP2ConnectionFixture()
        let transaction = try RecordingTransaction(.head)
        server.start(transaction)
        server.send(ServerFrames.headers([(":status", "200"), ("content-length", "5")], endsStream: true))
        #expect(transaction.events == [.requestSent, .response(200, length: 5), .end])
    }
}

extension HTTP2ResponseRow {
    /// Whether one of the server's frames ends the stream.
    fileprivate var endsStream: Bool {
        var remainingBytes = frames[...]
        var hasEndStream = false
        while remainingBytes.count >= 9 {
            let start = remainingBytes.startIndex
            let length = Int(remainingBytes[start]) << 16 | Int(remainingBytes[start + 1]) << 8 | Int(remainingBytes[start + 2])
            // DATA (0) or HEADERS (1) with END_STREAM (1).
            hasEndStream = hasEndStream || remainingBytes[start + 3] < 2 && remainingBytes[start + 4] & 1 != 0
            remainingBytes = remainingBytes.dropFirst(9 + length)
        }
        return hasEndStream
    }
}
