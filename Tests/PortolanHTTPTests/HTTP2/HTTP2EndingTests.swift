// SPDX-License-Identifier: Apache-2.0

import Glibc
import HTTPTypes
import PortolanCore
import Testing

@testable import PortolanHTTP
@testable import PortolanTransport

/// Tests how streams and connections end, when a request can be sent again, and how many streams are available. Also
/// tests the replies to PING, and the order of buffered data and errors.
@Suite struct HTTP2EndingTests {
    private static let ok = [(":status", "200")]

    @Test(arguments: [
        (7, RetryEligibility.refused), (13, .needsHTTP1), (8, .possiblyProcessed), (0, .possiblyProcessed), (2, .possiblyProcessed),
        (99, .possiblyProcessed),
    ])
    func resetCodeDecidesTheRetryEligibility(_ code: Int, _ eligibility: RetryEligibility) throws {
        let server = try HTTP2ConnectionFixture()
        let transaction = try RecordingTransaction()
        server.start(transaction)
        server.send(ServerFrames.reset(code))
        #expect(transaction.error?.code == .connectionLost)
        #expect(transaction.eligibility == eligibility)
        #expect(server.resetCode() == nil)
    }

    @Test func errorMessageContainsTheResetCode() throws {
        let server = try HTTP2ConnectionFixture()
        let transaction = try RecordingTransaction()
        server.start(transaction)
        server.send(ServerFrames.headers(Self.ok) + ServerFrames.reset(11))
        #expect(
            transaction.error?.message
                == "https://example.org reset the stream with ENHANCE_YOUR_CALM; "
                + "try again later, or send fewer requests at the same time")
    }

    @Test func goAwayMarksLaterStreamsAsNotProcessed() throws {
        let server = try HTTP2ConnectionFixture()
        let transactions = try (0..<4).map { _ in try RecordingTransaction(.post) }
        for transaction in transactions { server.start(transaction) }
        server.send(ServerFrames.goAway(last: 3, code: 11))
        #expect(transactions.map(\.eligibility) == [nil, nil, .notProcessed(afterOthers: true), .notProcessed(afterOthers: true)])
        #expect(server.connection.availableStreamCount == 0)
        server.send(ServerFrames.headers(Self.ok, endsStream: true))
        #expect(server.isOpen)
        server.send(ServerFrames.headers(Self.ok, stream: 3, endsStream: true))
        #expect(transactions.prefix(2).allSatisfy { $0.events.last == .end })
        #expect(!server.isOpen)
    }

    /// No other object closes a connection without a pool, so it must close itself after its last stream.
    @Test func connectionWithoutAPoolEndsWithItsLastStream() throws {
        let server = try HTTP2ConnectionFixture()
        let transactions = try (0..<2).map { _ in try RecordingTransaction() }
        for transaction in transactions { server.start(transaction) }
        server.dropPool()
        server.send(ServerFrames.headers(Self.ok, endsStream: true))
        #expect(server.isOpen)
        server.send(ServerFrames.headers(Self.ok, stream: 3, endsStream: true))
        #expect(transactions.allSatisfy { $0.events.last == .end })
        #expect(!server.isOpen)
    }

    @Test func connectionOpensNoStreamAfterAGoAway() throws {
        let server = try HTTP2ConnectionFixture()
        server.start(try RecordingTransaction())
        let laterTransaction = try RecordingTransaction()
        let stream = server.connection.beginTransaction(laterTransaction)
        server.send(ServerFrames.goAway(last: 1))
        stream.sendRequest()
        #expect(laterTransaction.eligibility == .notProcessed(afterOthers: false))
    }

    @Test func aClosedConnectionFailsItsStreamsOnce() throws {
        let server = try HTTP2ConnectionFixture()
        let (transactionWithoutResponse, transactionWithResponse) = (try RecordingTransaction(), try RecordingTransaction())
        server.start(transactionWithoutResponse)
        server.start(transactionWithResponse)
        server.send(ServerFrames.headers(Self.ok, stream: 3))
        server.endConnection()
        #expect(transactionWithoutResponse.error?.code == .connectionLost)
        #expect(transactionWithoutResponse.eligibility == .noResponse)
        #expect(transactionWithResponse.eligibility == .possiblyProcessed)
        #expect(transactionWithoutResponse.endCount == 1 && transactionWithResponse.endCount == 1)
    }

    @Test func cancelledStreamIsResetAndAnotherCanBeOpened() throws {
        let server = try HTTP2ConnectionFixture()
        server.send(ServerFrames.settings([(3, 1)]))
        let transaction = try RecordingTransaction()
        let stream = server.start(transaction)
        #expect(server.connection.availableStreamCount == 0)
        stream.cancel()
        server.read()
        #expect(server.connection.availableStreamCount == 1)
        #expect(server.resetCode() == 8)
        // The client drops data that the server sent before it received the reset.
        server.send(ServerFrames.headers(Self.ok) + ServerFrames.data("late", endsStream: true))
        #expect(transaction.events == [.requestSent])
        #expect(server.isOpen)
    }

    @Test func streamIsResetIfTheTransactionReturnsStopped() throws {
        let server = try HTTP2ConnectionFixture()
        let transaction = try RecordingTransaction()
        server.start(transaction)
        server.send(ServerFrames.headers(Self.ok))
        transaction.flow = .stopped
        server.send(ServerFrames.data("a") + ServerFrames.data("b", endsStream: true))
        #expect(transaction.text == "a")
        #expect(transaction.endCount == 0)
        #expect(server.resetCode() == 8)
    }

    @Test func manyCancelledStreamsDoNotEndTheConnection() throws {
        let server = try HTTP2ConnectionFixture()
        for index in 0..<1000 { server.start(try RecordingTransaction(path: "/\(index)")).cancel() }
        server.read()
        for index in 0..<1000 {
            server.send(ServerFrames.headers(Self.ok, stream: 2 * index + 1) + ServerFrames.data("late", stream: 2 * index + 1))
        }
        let next = try RecordingTransaction()
        server.start(next)
        server.send(ServerFrames.headers(Self.ok, stream: 2001, endsStream: true))
        #expect(next.events.last == .end)
        #expect(server.connection.availableStreamCount == 100)
    }

    @Test func availableStreamCountFollowsTheLimitOfTheServer() throws {
        let server = try HTTP2ConnectionFixture()
        #expect(server.connection.availableStreamCount == 100)
        server.send(ServerFrames.settings([(3, 5)]))
        #expect(server.connection.availableStreamCount == 5)
        for _ in 0..<3 { server.start(try RecordingTransaction()) }
        #expect(server.connection.availableStreamCount == 2)
        server.send(ServerFrames.settings([(3, 1)]))
        #expect(server.connection.availableStreamCount == 0)
        server.send(ServerFrames.settings([(3, 0xFFFF_FFFF)]))
        #expect(server.connection.availableStreamCount == 0xFFFF_FFFF - 3)
    }

    // MARK: A server that allows no stream (RFC 9113 §6.5.2)

    @Test func waitingRequestsTimeOutIfTheServerAllowsNoStream() throws {
        let server = try HTTP2ConnectionFixture()
        let running = try RecordingTransaction()
        server.start(running)
        server.send(ServerFrames.settings([(3, 0)]))
        let waiting = try (0..<3).map { _ in try RecordingTransaction(.post, body: .text("hello")) }
        for transaction in waiting { server.start(transaction) }
        #expect(server.connection.availableStreamCount == 96)
        server.advance(by: .seconds(29))
        #expect(waiting.allSatisfy { $0.endCount == 0 })
        server.advance(by: .seconds(1))
        server.read()
        for transaction in waiting {
            #expect(transaction.endCount == 1 && transaction.error?.code == .timedOut && transaction.eligibility == .possiblyProcessed)
            #expect(
                transaction.error?.message
                    == "https://example.org allowed no request for 30.0 seconds (SETTINGS_MAX_CONCURRENT_STREAMS is 0, "
                    + "RFC 9113 §6.5.2); try again later, or ask for HTTP/1.1")
        }
        // The running transaction continues. If the server later allows streams, the client does not send the requests
        // that timed out.
        #expect(server.connection.availableStreamCount == 0 && running.endCount == 0)
        server.send(ServerFrames.settings([(3, 10)]) + ServerFrames.headers(Self.ok, endsStream: true))
        #expect(running.events.last == .end)
        #expect(server.frames.filter { $0.type == 1 }.map(\.stream) == [1])
        #expect(!server.isOpen)
    }

    @Test func waitingRequestIsSentOnceTheServerAllowsAStream() throws {
        let server = try HTTP2ConnectionFixture()
        server.send(ServerFrames.settings([(3, 0)]))
        let (transaction, cancelled) = (try RecordingTransaction(), try RecordingTransaction())
        server.start(transaction)
        server.start(cancelled).cancel()
        #expect(!server.frames.contains { $0.type == 1 })
        server.send(ServerFrames.settings([(3, 1)]))
        #expect(server.frames.filter { $0.type == 1 }.map(\.stream) == [1])
        server.advance(by: .seconds(60))
        #expect(transaction.endCount == 0 && server.connection.availableStreamCount == 0)
        server.send(ServerFrames.headers(Self.ok, endsStream: true))
        #expect(transaction.events.last == .end && cancelled.endCount == 0)
        #expect(server.connection.availableStreamCount == 1)
    }

    @Test func connectionBecomesIdleAfterItsLastTransaction() throws {
        let server = try HTTP2ConnectionFixture()
        server.start(try RecordingTransaction())
        #expect(server.connection.idleSince == nil)
        server.send(ServerFrames.headers(Self.ok, endsStream: true))
        #expect(server.connection.idleSince != nil)
        server.connection.close()
        server.read()
        #expect(server.goAwayCode == 0)
        #expect(!server.isOpen)
    }

    @Test func pingsAreAnswered() throws {
        let server = try HTTP2ConnectionFixture()
        server.send(ServerFrames.frame(6, [1, 2, 3, 4, 5, 6, 7, 8]))
        #expect(server.frames.contains(ClientFrame(type: 6, flags: 1, stream: 0, payload: [1, 2, 3, 4, 5, 6, 7, 8])))
    }

    @Test func messageNamesAServerThatDoesNotSpeakHTTP2() throws {
        let server = try HTTP2ConnectionFixture(sendsSettings: false)
        let transaction = try RecordingTransaction()
        server.start(transaction)
        server.send(Array("HTTP/1.1 400 Bad Request\r\nConnection: close\r\n\r\n".utf8))
        #expect(transaction.error?.message == "https://example.org does not speak HTTP/2; check the port, or ask for HTTP/1.1")
    }

    /// In HTTP/2, a server can send frames at any time, so unread bytes do not make the connection unusable. The
    /// transport reports the end of the connection.
    @Test func unreadFramesDoNotMakeAConnectionStale() throws {
        let server = try HTTP2ConnectionFixture()
        server.transport.hasUnreadBytes = true
        #expect(server.connection.isAlive)
        server.start(try RecordingTransaction(.post))
        #expect(server.connection.isAlive)
        server.endConnection()
        #expect(!server.connection.isAlive)
    }

    @Test func errorOfALostConnectionNamesTheReason() throws {
        let server = try HTTP2ConnectionFixture()
        let transaction = try RecordingTransaction()
        server.start(transaction)
        server.transport.end(.system(ECONNRESET))
        #expect(transaction.error?.code == .connectionLost)
        #expect(transaction.error?.message.contains("reset") == true)
        #expect(transaction.eligibility == .noResponse)
        #expect(!server.isOpen)
    }

    @Test func errorIsDeliveredAfterBufferedData() throws {
        let server = try HTTP2ConnectionFixture()
        let transaction = try RecordingTransaction()
        let stream = server.start(transaction)
        server.send(ServerFrames.headers(Self.ok))
        transaction.flow = .pause
        server.send(ServerFrames.data("a"))
        server.send(ServerFrames.data("b") + ServerFrames.reset(2))
        #expect(transaction.endCount == 0)
        transaction.flow = .keepGoing
        stream.resumeReading()
        #expect(transaction.text == "ab")
        #expect(transaction.events.last == .failed(.connectionLost))
    }

    @Test func endedStreamNoLongerCountsWhileItsDataIsBuffered() throws {
        let server = try HTTP2ConnectionFixture()
        let transaction = try RecordingTransaction()
        let stream = server.start(transaction)
        transaction.flow = .pause
        server.send(ServerFrames.headers(Self.ok) + ServerFrames.data("a") + ServerFrames.headers([("x-a", "b")], endsStream: true))
        #expect(server.connection.availableStreamCount == 100)
        #expect(transaction.endCount == 0)
        stream.resumeReading()
        #expect(transaction.endCount == 0)
        stream.resumeReading()
        #expect(transaction.text == "a")
        let name = try #require(HTTPField.Name("x-a"))
        #expect(transaction.trailers?[name] == "b")
        #expect(transaction.endCount == 1)
    }

    @Test func cancelWhilePausedDropsBufferedData() throws {
        let server = try HTTP2ConnectionFixture()
        let transaction = try RecordingTransaction()
        let stream = server.start(transaction)
        transaction.flow = .pause
        server.send(ServerFrames.headers(Self.ok) + ServerFrames.data("a", endsStream: true))
        stream.cancel()
        stream.resumeReading()
        server.read()
        #expect(transaction.endCount == 0)
        #expect(transaction.bytes.isEmpty)
        #expect(server.resetCode() == nil)
    }
}
