// SPDX-License-Identifier: Apache-2.0

import Glibc
import HTTPTypes
import PortolanCore
import Testing

@testable import PortolanHTTP
@testable import PortolanTransport

@Suite struct HTTP2EndingTests {
    private static let ok = [(":status", "200")]

    @Test(arguments: [(7, RetryEligibility.refused), (13, .needsHTTP1), (8, .seen), (0, .seen), (2, .seen), (99, .seen)])
    func resetCodeDecidesTheRetryEligibility(_ code: Int, _ eligibility: RetryEligibility) throws {
        let server = try EmbeddedServer()
        let transaction = try RecordingTransaction()
        server.start(transaction)
        server.send(ServerFrames.reset(code))
        #expect(transaction.error?.code == .connectionLost)
        #expect(transaction.eligibility == eligibility)
        #expect(server.resetCode() == nil)
    }

    @Test func messageNamesTheCodeOfAReset() throws {
        let server = try EmbeddedServer()
        let transaction = try RecordingTransaction()
        server.start(transaction)
        server.send(ServerFrames.headers(Self.ok) + ServerFrames.reset(11))
        #expect(
            transaction.error?.message
                == "https://example.org ended the response with ENHANCE_YOUR_CALM; load it later, or fewer at a time")
    }

    @Test func streamsAfterTheLastOfAGoAwayCountAsNotProcessed() throws {
        let server = try EmbeddedServer()
        let exchanges = try (0..<4).map { _ in try RecordingTransaction(.post) }
        for transaction in exchanges { server.start(transaction) }
        server.send(ServerFrames.goAway(last: 3, code: 11))
        #expect(exchanges.map(\.eligibility) == [nil, nil, .notProcessed(afterOthers: true), .notProcessed(afterOthers: true)])
        #expect(server.connection.room == 0)
        server.send(ServerFrames.headers(Self.ok, ends: true))
        #expect(server.isOpen)
        server.send(ServerFrames.headers(Self.ok, stream: 3, ends: true))
        #expect(exchanges.prefix(2).allSatisfy { $0.events.last == .end })
        #expect(!server.isOpen)
    }

    /// Without its pool, a connection would never be used again or closed.
    @Test func connectionWithoutAPoolEndsWithItsLastStream() throws {
        let server = try EmbeddedServer()
        let exchanges = try (0..<2).map { _ in try RecordingTransaction() }
        for transaction in exchanges { server.start(transaction) }
        server.dropPool()
        server.send(ServerFrames.headers(Self.ok, ends: true))
        #expect(server.isOpen)
        server.send(ServerFrames.headers(Self.ok, stream: 3, ends: true))
        #expect(exchanges.allSatisfy { $0.events.last == .end })
        #expect(!server.isOpen)
    }

    @Test func connectionTakesNoStreamAfterAGoAway() throws {
        let server = try EmbeddedServer()
        server.start(try RecordingTransaction())
        let late = try RecordingTransaction()
        let carrier = server.connection.makeStream(for: late)
        server.send(ServerFrames.goAway(last: 1))
        carrier.start()
        #expect(late.eligibility == .notProcessed(afterOthers: false))
    }

    @Test func aClosedConnectionFailsItsStreamsOnce() throws {
        let server = try EmbeddedServer()
        let (unanswered, answered) = (try RecordingTransaction(), try RecordingTransaction())
        server.start(unanswered)
        server.start(answered)
        server.send(ServerFrames.headers(Self.ok, stream: 3))
        server.endConnection()
        #expect(unanswered.error?.code == .connectionLost)
        #expect(unanswered.eligibility == .noResponse)
        #expect(answered.eligibility == .seen)
        #expect(unanswered.endCount == 1 && answered.endCount == 1)
    }

    @Test func cancelledStreamIsResetAndFreesItsPlace() throws {
        let server = try EmbeddedServer()
        server.send(ServerFrames.settings([(3, 1)]))
        let transaction = try RecordingTransaction()
        let carrier = server.start(transaction)
        #expect(server.connection.room == 0)
        carrier.cancel()
        server.read()
        #expect(server.connection.room == 1)
        #expect(server.resetCode() == 8)
        // Data that is still on its way is dropped.
        server.send(ServerFrames.headers(Self.ok) + ServerFrames.data("late", ends: true))
        #expect(transaction.events == [.requestSent])
        #expect(server.isOpen)
    }

    @Test func stoppedReturnedForDataResetsTheStream() throws {
        let server = try EmbeddedServer()
        let transaction = try RecordingTransaction()
        server.start(transaction)
        server.send(ServerFrames.headers(Self.ok))
        transaction.flow = .stopped
        server.send(ServerFrames.data("a") + ServerFrames.data("b", ends: true))
        #expect(transaction.text == "a")
        #expect(transaction.endCount == 0)
        #expect(server.resetCode() == 8)
    }

    @Test func manyCancelledStreamsDoNotEndTheConnection() throws {
        let server = try EmbeddedServer()
        for index in 0..<1000 { server.start(try RecordingTransaction(path: "/\(index)")).cancel() }
        server.read()
        for index in 0..<1000 {
            server.send(ServerFrames.headers(Self.ok, stream: 2 * index + 1) + ServerFrames.data("late", stream: 2 * index + 1))
        }
        let next = try RecordingTransaction()
        server.start(next)
        server.send(ServerFrames.headers(Self.ok, stream: 2001, ends: true))
        #expect(next.events.last == .end)
        #expect(server.connection.room == 100)
    }

    @Test func roomFollowsTheStreamLimitOfTheServer() throws {
        let server = try EmbeddedServer()
        #expect(server.connection.room == 100)
        server.send(ServerFrames.settings([(3, 5)]))
        #expect(server.connection.room == 5)
        for _ in 0..<3 { server.start(try RecordingTransaction()) }
        #expect(server.connection.room == 2)
        server.send(ServerFrames.settings([(3, 1)]))
        #expect(server.connection.room == 0)
        server.send(ServerFrames.settings([(3, 0xFFFF_FFFF)]))
        #expect(server.connection.room == 0xFFFF_FFFF - 3)
    }

    // MARK: A server that allows no stream (RFC 9113 §6.5.2)

    @Test func waitingRequestsTimeOutIfTheServerAllowsNoStream() throws {
        let server = try EmbeddedServer()
        let before = try RecordingTransaction()
        server.start(before)
        server.send(ServerFrames.settings([(3, 0)]))
        let held = try (0..<3).map { _ in try RecordingTransaction(.post, body: .text("hello")) }
        for transaction in held { server.start(transaction) }
        #expect(server.connection.room == 96)
        server.advance(by: .seconds(29))
        #expect(held.allSatisfy { $0.endCount == 0 })
        server.advance(by: .seconds(1))
        server.read()
        for transaction in held {
            #expect(transaction.endCount == 1 && transaction.error?.code == .timedOut && transaction.eligibility == .seen)
            #expect(
                transaction.error?.message
                    == "https://example.org allowed no request for 30.0 seconds (SETTINGS_MAX_CONCURRENT_STREAMS is 0, "
                    + "RFC 9113 §6.5.2); try later, or ask for HTTP/1.1")
        }
        // The running exchange continues. The requests that timed out are not sent when the server allows them.
        #expect(server.connection.room == 0 && before.endCount == 0)
        server.send(ServerFrames.settings([(3, 10)]) + ServerFrames.headers(Self.ok, ends: true))
        #expect(before.events.last == .end)
        #expect(server.frames.filter { $0.type == 1 }.map(\.stream) == [1])
        #expect(!server.isOpen)
    }

    @Test func waitingRequestIsSentOnceTheServerAllowsAStream() throws {
        let server = try EmbeddedServer()
        server.send(ServerFrames.settings([(3, 0)]))
        let (transaction, cancelled) = (try RecordingTransaction(), try RecordingTransaction())
        server.start(transaction)
        server.start(cancelled).cancel()
        #expect(!server.frames.contains { $0.type == 1 })
        server.send(ServerFrames.settings([(3, 1)]))
        #expect(server.frames.filter { $0.type == 1 }.map(\.stream) == [1])
        server.advance(by: .seconds(60))
        #expect(transaction.endCount == 0 && server.connection.room == 0)
        server.send(ServerFrames.headers(Self.ok, ends: true))
        #expect(transaction.events.last == .end && cancelled.endCount == 0)
        #expect(server.connection.room == 1)
    }

    @Test func aConnectionIsIdleBetweenExchanges() throws {
        let server = try EmbeddedServer()
        server.start(try RecordingTransaction())
        #expect(server.connection.idleSince == nil)
        server.send(ServerFrames.headers(Self.ok, ends: true))
        #expect(server.connection.idleSince != nil)
        server.connection.close()
        server.read()
        #expect(server.goAwayCode == 0)
        #expect(!server.isOpen)
    }

    @Test func pingsAreAnswered() throws {
        let server = try EmbeddedServer()
        server.send(ServerFrames.frame(6, [1, 2, 3, 4, 5, 6, 7, 8]))
        #expect(server.frames.contains(ClientFrame(type: 6, flags: 1, stream: 0, payload: [1, 2, 3, 4, 5, 6, 7, 8])))
    }

    @Test func messageNamesAServerThatDoesNotSpeakHTTP2() throws {
        let server = try EmbeddedServer(isGreeting: false)
        let transaction = try RecordingTransaction()
        server.start(transaction)
        server.send(Array("HTTP/1.1 400 Bad Request\r\nConnection: close\r\n\r\n".utf8))
        #expect(transaction.error?.message == "https://example.org does not speak HTTP/2; check the port, or ask for HTTP/1.1")
    }

    /// The unread bytes are frames, on an idle connection and on one in use. The end of the connection is detected
    /// separately.
    @Test func unreadFramesDoNotMakeAConnectionStale() throws {
        let server = try EmbeddedServer()
        server.transport.hasUnread = true
        #expect(server.connection.isAlive)
        server.start(try RecordingTransaction(.post))
        #expect(server.connection.isAlive)
        server.endConnection()
        #expect(!server.connection.isAlive)
    }

    @Test func lostConnectionNamesTheReason() throws {
        let server = try EmbeddedServer()
        let transaction = try RecordingTransaction()
        server.start(transaction)
        server.transport.end(.system(ECONNRESET))
        #expect(transaction.error?.code == .connectionLost)
        #expect(transaction.error?.message.contains("reset") == true)
        #expect(transaction.eligibility == .noResponse)
        #expect(!server.isOpen)
    }

    @Test func errorWaitsForDataThatIsHeldBack() throws {
        let server = try EmbeddedServer()
        let transaction = try RecordingTransaction()
        let carrier = server.start(transaction)
        server.send(ServerFrames.headers(Self.ok))
        transaction.flow = .pause
        server.send(ServerFrames.data("a"))
        server.send(ServerFrames.data("b") + ServerFrames.reset(2))
        #expect(transaction.endCount == 0)
        transaction.flow = .keepGoing
        carrier.resumeReading()
        #expect(transaction.text == "ab")
        #expect(transaction.events.last == .failed(.connectionLost))
    }

    @Test func endWaitsForHeldBackDataButFreesItsPlaceAtOnce() throws {
        let server = try EmbeddedServer()
        let transaction = try RecordingTransaction()
        let carrier = server.start(transaction)
        transaction.flow = .pause
        server.send(ServerFrames.headers(Self.ok) + ServerFrames.data("a") + ServerFrames.headers([("x-a", "b")], ends: true))
        #expect(server.connection.room == 100)
        #expect(transaction.endCount == 0)
        carrier.resumeReading()
        #expect(transaction.endCount == 0)
        carrier.resumeReading()
        #expect(transaction.text == "a")
        let name = try #require(HTTPField.Name("x-a"))
        #expect(transaction.trailers?[name] == "b")
        #expect(transaction.endCount == 1)
    }

    @Test func cancelWhilePausedDropsHeldBackData() throws {
        let server = try EmbeddedServer()
        let transaction = try RecordingTransaction()
        let carrier = server.start(transaction)
        transaction.flow = .pause
        server.send(ServerFrames.headers(Self.ok) + ServerFrames.data("a", ends: true))
        carrier.cancel()
        carrier.resumeReading()
        server.read()
        #expect(transaction.endCount == 0)
        #expect(transaction.bytes.isEmpty)
        #expect(server.resetCode() == nil)
    }
}
