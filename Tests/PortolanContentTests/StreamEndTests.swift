// SPDX-License-Identifier: Apache-2.0

import FoundationEssentials
import HTTPTypes
import PortolanCore
import PortolanTestSupport
import PortolanURL
import Synchronization
import Testing

@testable import PortolanContent

/// Bodies of errors, and the ends of streams of events and lines.
@Suite(.timeLimit(.minutes(2))) struct StreamEndTests {
    private func error(for body: Data) throws -> StatusError {
        let response = Response(url: try URLRecord(parsing: "http://h/"), status: .notFound)
        return try #require(throws: StatusError.self) { try response.validated(body: body) }
    }

    /// The error has 64 KiB, and does not retain the whole body.
    @Test func errorDoesNotRetainTheWholeBody() throws {
        let body = Data(repeating: 1, count: 1 << 20)
        let error = try error(for: body)
        let isShared = unsafe body.withUnsafeBytes { whole in
            unsafe error.body.withUnsafeBytes { part in unsafe whole.baseAddress == part.baseAddress }
        }
        #expect(error.body.count == StatusError.bodyLimit && !isShared)
    }

    @Test func bodyOfTheErrorBeginsAtZero() throws {
        let error = try error(for: Data([0, 1, 2, 3])[2...])
        #expect(error.body.startIndex == 0 && error.body == Data([2, 3]))
    }

    /// The reader is cancelled while it waits for the next connection.
    @Test func cancellationWakesTheReader() async throws {
        let clock = ManualClock()
        let loader = loader(
            StubHandler { _ in
                var response = StubResponse.text("")
                (response.mimeType, response.status) = (MIMEType(parsing: "text/event-stream"), .ok)
                return response
            }
        ) { ($0.clock, $0.timeouts) = (clock, Timeouts()) }
        let reader = Task {
            for try await _ in try loader.events(from: "http://h/") {}
        }
        while clock.pendingTimerCount == 0 { await Task.yield() }
        reader.cancel()
        let error = try await #require(throws: LoadError.self) { try await reader.value }
        #expect(error.code == .cancelled && clock.pendingTimerCount == 0)
    }

    /// A server asks for a wait of a century.
    @Test(arguments: ["99999999999999999999999", "4398046511104", "9223372036854775807", "0"])
    func hugeWaitIsNoTrap(retry: String) async throws {
        let count = Mutex(0)
        let clock = InstantClock()
        let loader = loader(
            StubHandler { _ in
                let number = count.withLock { count in
                    count += 1
                    return count
                }
                guard number < 4 else { return .status(.noContent) }
                guard number == 1 else { throw LoadError(.cannotConnect, message: "refused") }
                var response = StubResponse.text("retry: \(retry)\n\n")
                (response.mimeType, response.status) = (MIMEType(parsing: "text/event-stream"), .ok)
                return response
            }
        ) { ($0.clock, $0.timeouts) = (clock, Timeouts()) }
        for try await _ in try loader.events(from: "http://h/") {}
        #expect(clock.waits.count == 3)
    }

    /// A stream that was ended by a value that can't be decoded is not loaded any more.
    @Test func failedLineEndsTheLoad() async throws {
        let handler = ManualHandler { load in
            load.respond()
            load.deliver("x\n")
        }
        let loader = loader(handler)
        let lines = try await loader.jsonLines(of: Int.self, from: "x://h/")
        var iterator = lines.makeAsyncIterator()
        await #expect(throws: DecodingError.self) { try await iterator.next() }
        #expect(loader.tasks.isEmpty)
        withExtendedLifetime(lines) {}
    }
}
