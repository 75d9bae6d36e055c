// SPDX-License-Identifier: Apache-2.0

import HTTPTypes
import PortolanCore
import PortolanTestSupport
import Synchronization
import Testing

@testable import PortolanTrace

/// For each mode of a replay handler: which requests reach the source, and what the recording contains afterwards.
@Suite(.timeLimit(.minutes(2))) struct ModeTests {
    /// The source of responses that are not in the recording. It records the URLs of its requests.
    private final class Source: Sendable {
        let requestedURLs = Mutex<[String]>([])

        var handler: StubHandler {
            StubHandler { [self] request in
                requestedURLs.withLock { $0.append(request.url.description) }
                switch request.url.path {
                case "redirect": return .redirect(to: try URLRecord(parsing: "x:there"))
                case "fails": throw LoadError(.nameNotFound, message: "no such name")
                default:
                    var response = StubResponse.pieces([[0xFF, 0x00], Array("loaded \(request.url.path)".utf8)])
                    response.mimeType = MIMEType(parsing: "a/b")
                    response.fields = [.age: "1", .setCookie: "id=hidden"]
                    return response
                }
            }
        }
    }

    private let source = Source()

    /// The events of a load through the replay handler.
    private func events(_ url: String, _ replay: ReplayHandler, method: HTTPRequest.Method = .get, body: Body? = nil) throws
        -> [RecordingDelegate.Event]
    {
        let delegate = RecordingDelegate()
        loader(replay, source.handler).task(for: try Request(url, method: method, body: body), delegate: delegate).resume()
        return delegate.events
    }

    /// A recording of loads of these URLs.
    private func recording(of urls: String...) throws -> Recording {
        let replay = ReplayHandler(Recording(), mode: .record)
        for url in urls { _ = try events(url, replay) }
        return replay.recording
    }

    private func urls(_ recording: Recording) -> [String] { recording.transactions.map(\.url.description) }

    /// The events with the body in one piece, as an HTTP Archive stores it.
    private func joiningData(_ events: [RecordingDelegate.Event]) -> [RecordingDelegate.Event] {
        events.reduce(into: []) { joinedEvents, event in
            if case .data(let bytes) = event, case .data(let earlierBytes)? = joinedEvents.last {
                joinedEvents[joinedEvents.count - 1] = .data(earlierBytes + bytes)
            } else {
                joinedEvents.append(event)
            }
        }
    }

    @Test(arguments: Recording.Form.allCases, ["x:plain", "x:redirect", "x:fails"])
    func recordedLoadIsReplayedWithTheSameEvents(form: Recording.Form, url: String) throws {
        let recorder = ReplayHandler(Recording(), mode: .record)
        let loadedEvents = try events(url, recorder)
        let bytes = recorder.recording.bytes(as: form)
        let requestCount = source.requestedURLs.withLock { $0.count }
        let replayedEvents = try events(url, ReplayHandler(try Recording(parsing: bytes)))
        #expect(form == .json ? replayedEvents == loadedEvents : replayedEvents == joiningData(loadedEvents))
        #expect(source.requestedURLs.withLock { $0.count } == requestCount)
        #expect(!String(decoding: bytes, as: UTF8.self).contains("id=hidden"))
    }

    @Test(arguments: Recording.Form.allCases) func replayedResponseIsTheSame(form: Recording.Form) async throws {
        let bytes = try recording(of: "x:plain").bytes(as: form)
        let (body, response) = try await loader(ReplayHandler(try Recording(parsing: bytes)), source.handler).data(
            for: try Request("x:plain"))
        #expect(Array(body) == [0xFF, 0x00] + Array("loaded plain".utf8))
        #expect(response.mimeType?.description == "a/b" && response.fields[.age] == "1" && response.expectedLength == 14)
    }

    @Test func strictModeLoadsNothing() throws {
        let replay = ReplayHandler(try recording(of: "x:one"))
        #expect(try events("x:two", replay) == [.failed(.notFound)])
        #expect(source.requestedURLs.withLock { $0 } == ["x:one"] && replay.recording.count == 1)
    }

    @Test(arguments: Recording.Form.allCases) func fillModeLoadsAndAddsMissingEntries(form: Recording.Form) throws {
        let parsedRecording = try Recording(parsing: recording(of: "x:one").bytes(as: form))
        let replay = ReplayHandler(parsedRecording, mode: .fill)
        for url in ["x:one", "x:redirect", "x:fails"] { _ = try events(url, replay) }
        #expect(source.requestedURLs.withLock { $0 } == ["x:one", "x:redirect", "x:there", "x:fails"])
        #expect(urls(replay.recording) == ["x:one", "x:redirect", "x:there", "x:fails"])
        let filledRecording = try Recording(parsing: replay.recording.bytes(as: form))
        #expect(urls(filledRecording) == ["x:one", "x:redirect", "x:there", "x:fails"])
        #expect(try events("x:fails", ReplayHandler(filledRecording)) == [.failed(.nameNotFound)])
    }

    @Test func fillModeReloadsAnIncompleteEntry() throws {
        var incompleteRecording = try recording(of: "x:one")
        var transaction = Transaction(.get, try URLRecord(parsing: "x:two"), began: 0)
        transaction.append(.response(Response(url: transaction.url)), at: .zero)
        transaction.append(.interrupted("interrupted"), at: .zero)
        incompleteRecording.add(transaction)
        let replay = ReplayHandler(try Recording(parsing: incompleteRecording.bytes(as: .json)), mode: .fill)
        #expect(try events("x:two", replay).last == .finished)
        #expect(source.requestedURLs.withLock { $0 } == ["x:one", "x:two"])
        // The complete transaction is replayed, although the incomplete one precedes it in the file.
        let filledRecording = try Recording(parsing: replay.recording.bytes(as: .json))
        #expect(filledRecording.count == 3)
        #expect(try events("x:two", ReplayHandler(filledRecording)).last == .finished)
    }

    @Test func fillModeReloadsAFailedEntry() throws {
        var failedRecording = Recording()
        var transaction = Transaction(.get, try URLRecord(parsing: "x:one"), began: 0)
        transaction.append(.failed(LoadError(.timedOut, message: "too late")), at: .zero)
        failedRecording.add(transaction)
        let parsedRecording = try Recording(parsing: failedRecording.bytes(as: .har))
        #expect(try events("x:one", ReplayHandler(parsedRecording)) == [.failed(.timedOut)])
        let replay = ReplayHandler(parsedRecording, mode: .fill)
        #expect(try events("x:one", replay).last == .finished)
        #expect(source.requestedURLs.withLock { $0 } == ["x:one"])
        // The response is replayed, although the failure precedes it in the file.
        let filledRecording = try Recording(parsing: replay.recording.bytes(as: .har))
        #expect(filledRecording.count == 2)
        #expect(try events("x:one", ReplayHandler(filledRecording)).last == .finished)
        #expect(try events("x:one", ReplayHandler(filledRecording, mode: .fill)).last == .finished)
        #expect(source.requestedURLs.withLock { $0.count } == 1)
    }

    @Test func repeatedFailureIsNotAddedAgain() throws {
        let parsedRecording = try Recording(parsing: recording(of: "x:fails").bytes(as: .har))
        let replay = ReplayHandler(parsedRecording, mode: .fill)
        #expect(try events("x:fails", replay) == [.failed(.nameNotFound)])
        #expect(source.requestedURLs.withLock { $0 } == ["x:fails", "x:fails"] && replay.recording.count == 1)
    }

    /// Passwords are removed from URLs in fields, too.
    @Test(arguments: Recording.Form.allCases) func recordingHasNoCredentialsOrCookies(form: Recording.Form) throws {
        let values = [
            ("location", "http://me:hidden@h/there", "http://h/there"), ("location", "//me:hidden@h/there", "//h/there"),
            ("content-location", "http://me:hid@den@h/", "http://h/"), ("referer", "https://me:hidden@h", "https://h"),
            ("link", "<http://a/>, <http://me:hidden@h/x>; rel=next, <//me:hidden@i>", "<http://a/>, <http://h/x>; rel=next, <//i>"),
            ("refresh", "5; url=http://me:hidden@h/", "5; url=http://h/"), ("location", "/home/@me", "/home/@me"),
            ("location", "http://h/?to=a@b", "http://h/?to=a@b"), ("x-mark", "http://a@h/", "http://h/"), ("set-cookie2", "hidden", nil),
            ("cookie2", "hidden", nil),
        ]
        var (recording, transaction) = (Recording(), Transaction(.get, try URLRecord(parsing: "x:y"), began: 0))
        var response = Response(url: transaction.url)
        for (name, value, _) in values { try response.fields.append(recorded: name, value) }
        transaction.append(.response(response), at: .zero)
        transaction.append(.finished, at: .zero)
        recording.add(transaction)
        let parsedResponse = try #require(try Recording(parsing: recording.bytes(as: form)).transactions.first?.response)
        #expect(parsedResponse.fields.map(\.value) == values.compactMap(\.2))
    }

    @Test func recordModeReloadsEveryRequest() throws {
        let replay = ReplayHandler(try recording(of: "x:one", "x:two"), mode: .record)
        _ = try events("x:two", replay)
        #expect(source.requestedURLs.withLock { $0 } == ["x:one", "x:two", "x:two"])
        #expect(urls(replay.recording) == ["x:two"] && replay.recording.form == nil)
    }

    @Test func cancelledLoadIsNotRecorded() throws {
        let replay = ReplayHandler(Recording(), mode: .record)
        let delegate = RecordingDelegate { event, task in
            if case .data = event { task.cancel() }
            return .keepGoing
        }
        loader(replay, source.handler).task(for: try Request("x:one"), delegate: delegate).resume()
        #expect(delegate.events.last == .failed(.cancelled) && replay.recording.count == 0)
        #expect(replay.recordCount == 0)
        _ = try events("x:redirect", replay)
        #expect(replay.recordCount == 2)
    }

    @Test func requestBodiesAreRecordedAndCompared() throws {
        let replay = ReplayHandler(Recording(), mode: .record)
        for bytes in [Array("a=1".utf8), [0xFF, 0xFE]] { _ = try events("x:form", replay, method: .post, body: .bytes(bytes)) }
        for form in Recording.Form.allCases {
            let parsedRecording = try Recording(parsing: replay.recording.bytes(as: form))
            #expect(parsedRecording.transactions.map(\.body) == [Array("a=1".utf8), [0xFF, 0xFE]])
            #expect(try events("x:form", ReplayHandler(parsedRecording), method: .post, body: .bytes([1])) == [.failed(.notFound)])
            #expect(try events("x:form", ReplayHandler(parsedRecording), method: .post, body: .bytes([0xFF, 0xFE])).last == .finished)
        }
    }

    @Test func startOfALargeBodyIsKept() throws {
        let piece = [UInt8](repeating: 7, count: 3 << 20)
        let largeBodyHandler = StubHandler { _ in .pieces(Array(repeating: piece, count: 6)) }
        let replay = ReplayHandler(Recording(), mode: .record)
        var configuration = Loader.Configuration()
        configuration.handlers = [replay, largeBodyHandler]
        let delegate = RecordingDelegate()
        Loader(configuration: configuration, registry: ProtocolRegistry()).task(for: try Request("x:large"), delegate: delegate).resume()
        #expect(delegate.body.count == 18 << 20)
        #expect(replay.recording.transactions.first?.incompleteness == "it has the first 16777216 bytes of 18874368")
    }

    @Test(arguments: Recording.Form.allCases) func partialBodyIsParsedAsIncomplete(form: Recording.Form) throws {
        var (recording, transaction) = (Recording(), Transaction(.get, try URLRecord(parsing: "x:y"), began: 0))
        transaction.append(.response(Response(url: transaction.url)), at: .zero)
        transaction.append(.data([0xFF, 2], count: 5), at: .zero)
        transaction.append(.finished, at: .zero)
        recording.add(transaction)
        let parsedRecording = try Recording(parsing: recording.bytes(as: form))
        #expect(parsedRecording.transactions.first?.incompleteness == "it has the first 2 bytes of 5")
        #expect(try events("x:y", ReplayHandler(parsedRecording)).last == .failed(.truncated))
    }

    /// The load fails in the middle of the body, or the caller cancels it.
    @Test(arguments: Recording.Form.allCases, [true, false]) func failureAndCancellationAreReplayed(form: Recording.Form, hasFailed: Bool)
        throws
    {
        var (recording, transaction) = (Recording(), Transaction(.get, try URLRecord(parsing: "x:y"), began: 0))
        transaction.append(.response(Response(url: transaction.url)), at: .zero)
        transaction.append(.data([0xFF, 2], count: 2), at: .zero)
        transaction.append(hasFailed ? .failed(LoadError(.ioFailed, message: "bad disk")) : .interrupted("interrupted"), at: .zero)
        recording.add(transaction)
        let replayedEvents = try events("x:y", ReplayHandler(try Recording(parsing: recording.bytes(as: form))))
        #expect(replayedEvents == [.response(transaction.url), .data([0xFF, 2]), .failed(hasFailed ? .ioFailed : .truncated)])
    }
}
