// SPDX-License-Identifier: Apache-2.0

import HTTPTypes
import PortolanCore
import PortolanTestSupport
import Synchronization
import Testing

@testable import PortolanContent

@Suite(.timeLimit(.minutes(2))) struct ServerSentEventsTests {
    private let clock = InstantClock()

    /// A loader whose connections have these responses. The last is repeated.
    private func loader(_ responses: [StubResponse]) -> (Loader, () -> [Request]) {
        let requests = Mutex<[Request]>([])
        let loader = PortolanTestSupport.loader(
            StubHandler { request in
                let number = requests.withLock { requests in
                    requests.append(request)
                    return requests.count
                }
                return responses[min(number, responses.count) - 1]
            }
        ) {
            $0.clock = clock
            $0.timeouts = Timeouts()
        }
        return (loader, { requests.withLock { $0 } })
    }

    private static func stream(_ text: String, failure: LoadError.Code? = nil) -> StubResponse {
        var response = StubResponse.text(text)
        response.mimeType = MIMEType(parsing: "text/event-stream;charset=utf-8")
        response.status = .ok
        response.announcesLength = failure == nil
        response.failure = failure.map { LoadError($0, message: "failed") }
        return response
    }

    private static func failure(_ code: LoadError.Code) -> StubResponse {
        var response = StubResponse.text("")
        response.failure = LoadError(code, message: "failed")
        return response
    }

    @Test func sequenceEndsAfter204() async throws {
        let (loader, requests) = loader([Self.stream("data: a\nid: 1\n\ndata: lost"), Self.stream("data: b\n\n"), .status(.noContent)])
        var events: [ServerSentEvent] = []
        for try await event in try loader.events(from: "http://h/") { events.append(event) }
        #expect(events == [ServerSentEvent(data: "a", id: "1"), ServerSentEvent(data: "b", id: "1")])
        #expect(requests().map { $0.field("Last-Event-ID") } == [nil, "1", "1"])
        #expect(requests().allSatisfy { $0.field("Accept") == "text/event-stream" && $0.cachePolicy == .noStore })
        #expect(clock.waits == [.seconds(3), .seconds(3)])
    }

    @Test func serverChoosesTheWait() async throws {
        let (loader, _) = loader([
            Self.stream("retry: 250\n"), Self.stream("data: a\n\n", failure: .connectionLost), Self.stream("retry: 0\n\n"),
            .status(.noContent),
        ])
        for try await _ in try loader.events(from: "http://h/") {}
        #expect(clock.waits == [.milliseconds(250), .milliseconds(250), .milliseconds(100)])
    }

    @Test(
        arguments: [
            (403, "text/event-stream"), (500, "text/event-stream"), (201, "text/event-stream"), (200, "text/plain"),
            (200, "text/event-streams"),
            (200, ""),
        ])
    func otherResponseFailsTheSequence(code: Int, type: String) async throws {
        var response = Self.stream("data: a\n\n")
        (response.status, response.mimeType) = (.init(code: code), MIMEType(parsing: type))
        let (loader, requests) = loader([response])
        var iterator = try loader.events(from: "http://h/").makeAsyncIterator()
        let error = try await #require(throws: (any Error).self) { try await iterator.next() }
        if code >= 400 {
            #expect((error as? StatusError)?.status.code == code)
        } else {
            #expect((error as? LoadError)?.code == .badResponse)
        }
        #expect(try await iterator.next() == nil)
        #expect(requests().count == 1 && clock.waits.isEmpty)
    }

    /// Failures without a response double the wait, and a response resets it.
    @Test func waitGrowsWithTheFailures() async throws {
        let handler = Mutex(0)
        let responses: [Int: StubResponse] = [9: Self.stream("data: a\n\n"), 12: .status(.noContent)]
        let loader = PortolanTestSupport.loader(
            StubHandler { _ in
                let number = handler.withLock { number in
                    number += 1
                    return number
                }
                guard let response = responses[number] else { throw LoadError(.cannotConnect, message: "refused") }
                return response
            }
        ) {
            $0.clock = clock
            $0.timeouts = Timeouts()
        }
        for try await _ in try loader.events(from: "http://h/") {}
        #expect(clock.waits.map { $0 / .seconds(1) } == [3, 6, 12, 24, 48, 60, 60, 60, 3, 3, 6])
    }

    @Test(arguments: [1, 3])
    func repeatedFailuresEndTheSequence(limit: Int) async throws {
        let requests = Mutex(0)
        let loader = PortolanTestSupport.loader(
            StubHandler { _ in
                requests.withLock { $0 += 1 }
                throw LoadError(.nameNotFound, message: "none")
            }
        ) {
            $0.clock = clock
            $0.timeouts = Timeouts()
        }
        var iterator = try loader.events(from: "http://h/", maximumFailureCount: limit).makeAsyncIterator()
        let error = try await #require(throws: LoadError.self) { try await iterator.next() }
        #expect(error.code == .nameNotFound && requests.withLock { $0 } == limit)
    }

    @Test func failureThatStaysEndsTheSequence() async throws {
        let (loader, requests) = loader([Self.failure(.certificateNotTrusted)])
        // The stub fails after its response, which has no type.
        var iterator = try loader.events(from: "http://h/").makeAsyncIterator()
        await #expect(throws: LoadError.self) { try await iterator.next() }
        #expect(requests().count == 1)
        for (code, _) in LoadError.Code.published where [.cancelled, .badURL, .unsupportedScheme, .limitExceeded].contains(code) {
            #expect(!ReconnectionSchedule.allowsConnection(after: LoadError(code, message: "")))
        }
    }

    @Test func largeEventFailsTheSequence() async throws {
        let (loader, requests) = loader([Self.stream("data: a\n\ndata: 0123456789\n\n")])
        var iterator = try loader.events(from: "http://h/", maximumEventSize: 10).makeAsyncIterator()
        // The events before it are there, also if they have arrived in one piece with it.
        #expect(try await iterator.next()?.data == "a")
        let error = await #expect(throws: LoadError.self) { try await iterator.next() }
        #expect(error?.code == .limitExceeded && requests().count == 1)
        #expect(try await iterator.next() == nil)
    }

    @Test func cancellationEndsTheWait() async throws {
        let manualClock = ManualClock()
        let loader = PortolanTestSupport.loader(StubHandler { _ in Self.stream("") }) {
            $0.clock = manualClock
            $0.timeouts = Timeouts()
        }
        let reader = Task {
            for try await _ in try loader.events(from: "http://h/") {}
        }
        reader.cancel()
        let error = try await #require(throws: LoadError.self) { try await reader.value }
        #expect(error.code == .cancelled)
    }

    @Test func eventIsDecodedFromJSON() throws {
        #expect(try ServerSentEvent(data: "[1,\n2]").decode([Int].self) == [1, 2])
        #expect(throws: DecodingError.self) { try ServerSentEvent(data: "x").decode([Int].self) }
    }
}
