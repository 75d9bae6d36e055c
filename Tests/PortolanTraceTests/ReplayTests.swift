// SPDX-License-Identifier: Apache-2.0

import HTTPTypes
import PortolanCore
import PortolanTestSupport
import Synchronization
import Testing

@testable import PortolanTrace

/// How a replay handler responds from a recording.
@Suite(.timeLimit(.minutes(2))) struct ReplayTests {
    private func replay(
        _ text: String, mode: ReplayHandler.Mode = .strict, speed: Double? = nil, clock: any LoadClock = SystemClock.shared
    ) throws -> ReplayHandler {
        ReplayHandler(try Recording(parsing: Array(text.utf8)), mode: mode, speed: speed, clock: clock)
    }

    private func text(_ url: String, from loader: Loader) async throws -> String {
        String(decoding: try await loader.data(for: try Request(url)).0, as: UTF8.self)
    }

    private func error(_ request: Request, from loader: Loader) async throws -> LoadError {
        try await #require(throws: LoadError.self) { try await loader.data(for: request) }
    }

    /// An archive of GET requests, each with its URL and the body of its response.
    private func archive(_ entries: [(url: String, body: String)], creator: String = "x") -> String {
        let entries = entries.map { url, body in
            #"{"request":{"method":"GET","url":"\#(url)"},"response":{"status":200,"content":{"size":\#(body.utf8.count),"text":"\#(body)"}}}"#
        }
        return #"{"log":{"creator":{"name":"\#(creator)"},"entries":[\#(entries.joined(separator: ","))]}}"#
    }

    // MARK: Matching

    @Test(arguments: ["http://h/a", "HTTP://H:80/./a", "http://user:secret@h/a", "http://h/a#part"])
    func requestsAreComparedInCanonicalForm(url: String) async throws {
        let loader = loader(try replay(archive([("http://H/x/../a#here", "found")])))
        #expect(try await text(url, from: loader) == "found")
    }

    @Test func responsesToEqualRequestsAreReplayedInOrder() async throws {
        let loader = loader(try replay(archive([("http://h/a", "1"), ("http://h/b", "other"), ("http://h/a", "2")])))
        var texts: [String] = []
        for _ in 0..<4 { texts.append(try await text("http://h/a", from: loader)) }
        #expect(texts == ["1", "2", "2", "2"])
    }

    @Test func requestBodyIsCompared() async throws {
        let loader = loader(try replay(Archives.firefox))
        /// The text of the response to a POST request with this body.
        func post(_ body: Body?) async throws -> String {
            let request = try Request("http://example.org/form", method: .post, body: body)
            return String(decoding: try await loader.data(for: request).0, as: UTF8.self)
        }
        #expect(try await post(.text("a=2")) == "two")
        #expect(try await post(.text("a=1")) == "one")
        let pieceBody = Body(length: nil, isRewindable: true) { () throws(LoadError) in PiecewiseReader(["a", "=", "2"]) }
        #expect(try await post(pieceBody) == "two")
        let error = try await error(try Request("http://example.org/form", method: .post, body: .text("a=3")), from: loader)
        #expect(
            error.code == .notFound
                && error.message.contains("POST 'http://example.org/form' with this body; it has the same request with another body"))
    }

    @Test func oneTimeBodyIsNotCompared() async throws {
        let oneTimeBody = Body(length: 3, isRewindable: false) { () throws(LoadError) in try Body.text("a=3").makeReader() }
        let request = try Request("http://example.org/form", method: .post, body: oneTimeBody)
        #expect(String(decoding: try await loader(try replay(Archives.firefox)).data(for: request).0, as: UTF8.self) == "one")
    }

    /// The response has the requested URL, including its fragment.
    @Test func responseHasTheFragmentOfItsRequest() async throws {
        let loader = loader(try replay(Archives.chromium))
        #expect(try await loader.data(for: try Request("https://example.org/dot.gif#x")).1.url.fragment == "x")
        #expect(try await loader.data(for: try Request("https://example.org/home")).1.url.fragment == nil)
    }

    @Test func missingEntryErrorNamesSimilarEntries() async throws {
        let loader = loader(try replay(archive([("http://h/list?page=1", "x"), ("http://h/lost", "x"), ("http://other/", "x")])))
        let error = try await error(try Request("http://h/list?page=2"), from: loader)
        #expect(error.code == .notFound)
        #expect(
            error.message
                == "the recording has no response to GET 'http://h/list?page=2'; it has GET 'http://h/list?page=1', GET 'http://h/lost'")
        let errorOfPost = try await self.error(try Request("http://h/lost", method: .post), from: loader)
        #expect(errorOfPost.message.contains("POST 'http://h/lost'; it has GET 'http://h/lost'"))
        let errorWithoutSimilarEntry = try await self.error(try Request("gopher://x/"), from: loader)
        #expect(
            errorWithoutSimilarEntry.message
                == "the recording has no response to GET 'gopher://x/' or to a similar request (recorded requests: 3)")
    }

    // MARK: The replayed events

    @Test func redirectInABrowserArchiveLeadsToTheNextEntry() throws {
        let delegate = RecordingDelegate()
        loader(try replay(Archives.chromium)).task(for: try Request("https://example.org/"), delegate: delegate).resume()
        let home = try URLRecord(parsing: "https://example.org/home")
        #expect(delegate.events == [.redirect(home), .response(home), .data(Array("<b>é</b>".utf8)), .finished])
    }

    @Test func redirectThatIsNotFollowedIsDelivered() throws {
        let delegate = RecordingDelegate()
        let loader = loader(try replay(Archives.chromium)) { $0.redirects.mode = .manual }
        loader.task(for: try Request("https://example.org/"), delegate: delegate).resume()
        #expect(delegate.events == [.response(try URLRecord(parsing: "https://example.org/")), .finished])
    }

    @Test func eventsOfOtherProtocolsAreReplayedUnchanged() throws {
        let delegate = RecordingDelegate()
        loader(try replay(Archives.events)).task(for: try Request("x:first"), delegate: delegate).resume()
        let second = try URLRecord(parsing: "x:second")
        #expect(delegate.events == [.redirect(second), .response(second), .data([0, 0xFF]), .data([0x80, 0x0A]), .trailers, .finished])
    }

    @Test func recordedFailuresAreReplayed() async throws {
        let pluginError = try await error(try Request("x:broken"), from: loader(try replay(Archives.events)))
        #expect(pluginError == LoadError(.init(rawValue: 7), domain: "org.example.x", message: "it broke"))
        let lookUpError = try await error(try Request("https://nosuch.invalid/"), from: loader(try replay(Archives.chromium)))
        #expect(lookUpError.code == .nameNotFound)
        let blockedError = try await error(try Request("http://example.org/blocked"), from: loader(try replay(Archives.firefox)))
        #expect(blockedError.code == .connectionLost)
    }

    @Test(arguments: [
        (Archives.firefox, "http://example.org/large", 18, "it has the first 18 bytes of 2000000"),
        (Archives.firefox, "http://example.org/unread", 0, "it has none of the 9 bytes ('Response bodies are not included.')"),
        (Archives.events, "x:cancelled", 2, "interrupted"),
    ])
    func loadOfAnIncompleteEntryFailsWhereTheEntryEnds(text: String, url: String, bytes: Int, phrase: String) throws {
        let delegate = RecordingDelegate()
        loader(try replay(text)).task(for: try Request(url), delegate: delegate).resume()
        #expect(delegate.body.count == bytes && delegate.error?.code == .truncated)
        #expect(delegate.error?.message == "the recording of '\(url)' is incomplete: \(phrase); record it again")
    }

    @Test func recorded401IsDelivered() async throws {
        let text = archive([("http://h/", "no")]).replacing("\"status\":200", with: "\"status\":401")
        let (body, response) = try await loader(try replay(text)).data(for: try Request("http://h/"))
        #expect(response.status?.code == 401 && Array(body) == Array("no".utf8))
    }

    // MARK: Times, pauses and stops

    @Test func responsesAreReplayedImmediatelyWithoutASpeed() throws {
        let (clock, delegate) = (ManualClock(), RecordingDelegate())
        loader(try replay(Archives.events, clock: clock)).task(for: try Request("x:first"), delegate: delegate).resume()
        #expect(delegate.events.last == .finished && clock.pendingTimerCount == 0)
    }

    @Test(arguments: [(1.0, 1), (2.0, 2), (0.5, -2)]) func speedScalesTheRecordedTimes(speed: Double, divisor: Int) throws {
        let (clock, delegate) = (ManualClock(), RecordingDelegate())
        let loader = loader(try replay(Archives.events, speed: speed, clock: clock))
        loader.task(for: try Request("x:first"), delegate: delegate).resume()
        /// Advances the clock by a time of the recording. A negative divisor is a factor.
        func advance(_ milliseconds: Int) {
            clock.advance(by: divisor > 0 ? .milliseconds(milliseconds) / divisor : .milliseconds(milliseconds) * -divisor)
        }
        #expect(delegate.events.isEmpty)
        advance(10)
        #expect(delegate.events.count == 1)
        advance(8)
        #expect(delegate.events.count == 1)
        advance(2)
        #expect(delegate.events.count == 2)
        advance(30)
        #expect(delegate.events.count == 5 && delegate.events.last == .trailers)
        advance(10)
        #expect(delegate.events.last == .finished)
    }

    @Test(arguments: [nil, 1.0]) func pauseStopsTheDeliveries(speed: Double?) throws {
        let clock = ManualClock()
        let delegate = RecordingDelegate { event, _ in event == .data([0, 0xFF]) ? .pause : .keepGoing }
        let task = loader(try replay(Archives.events, speed: speed, clock: clock)).task(for: try Request("x:second"), delegate: delegate)
        task.resume()
        clock.advance(by: .seconds(100))
        #expect(delegate.events.last == .data([0, 0xFF]))
        task.resume()
        #expect(delegate.events.last == .finished && delegate.body.count == 4)
    }

    @Test(arguments: [nil, 1.0]) func noEventFollowsAStop(speed: Double?) throws {
        let violationCount = Mutex(0)
        let clock = ManualClock()
        let delegate = RecordingDelegate { event, task in
            if event == .data([0, 0xFF]) { task.cancel() }
            return .keepGoing
        }
        let loader = loader(try replay(Archives.events, speed: speed, clock: clock)) {
            $0.violationObserver = { _, _ in violationCount.withLock { $0 += 1 } }
        }
        loader.task(for: try Request("x:second"), delegate: delegate).resume()
        clock.advance(by: .seconds(100))
        #expect(delegate.events.suffix(2) == [.data([0, 0xFF]), .failed(.cancelled)])
        #expect(clock.pendingTimerCount == 0 && violationCount.withLock { $0 } == 0)
    }

    @Test func twoConcurrentLoadsGetDifferentEntries() throws {
        let clock = ManualClock()
        let text = archive([("http://h/a", "1"), ("http://h/a", "2")]).replacing("}}},", with: "}},\"time\":20},").replacing(
            "}}}]", with: "}},\"time\":10}]")
        let loader = loader(try replay(text, speed: 1, clock: clock))
        let delegates = [RecordingDelegate(), RecordingDelegate()]
        for delegate in delegates { loader.task(for: try Request("http://h/a"), delegate: delegate).resume() }
        clock.advance(by: .milliseconds(10))
        #expect(delegates.map(\.text) == ["", "2"])
        clock.advance(by: .milliseconds(10))
        #expect(delegates.map(\.text) == ["1", "2"])
    }

    @Test func manyConcurrentLoadsShareTheEntries() async throws {
        let count = 64
        let loader = loader(try replay(archive((0..<count).map { ("http://h/a", "\($0)") })))
        let texts = try await withThrowingTaskGroup(of: String.self) { group in
            for _ in 0..<count { group.addTask { try await self.text("http://h/a", from: loader) } }
            return try await group.reduce(into: Set<String>()) { $0.insert($1) }
        }
        #expect(texts.count == count)
    }
}

/// A body reader that returns one piece for each read, and `wait` before each piece.
private final class PiecewiseReader: BodyReader {
    private let state: Mutex<(pieces: [String], isWaiting: Bool)>

    init(_ pieces: [String]) { state = Mutex((pieces, false)) }

    func read(into buffer: inout OutputRawSpan, whenReady: @escaping @Sendable () -> Void) -> BodyRead {
        let piece: String? = state.withLock { state in
            state.isWaiting.toggle()
            return state.isWaiting ? nil : state.pieces.isEmpty ? "" : state.pieces.removeFirst()
        }
        guard let piece else {
            whenReady()
            return .wait
        }
        for byte in piece.utf8 { buffer.append(byte) }
        return piece.isEmpty ? .end : .bytes
    }

    func close() {}
}
