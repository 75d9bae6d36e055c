// SPDX-License-Identifier: Apache-2.0

import HTTPTypes
import PortolanCore
import PortolanTestSupport
import Synchronization
import Testing

@testable import PortolanTrace

/// The loads of each mode, and the resulting contents of its file.
@Suite(.timeLimit(.minutes(2))) struct ModeTests {
    /// Records the URLs of its requests.
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

    private func events(_ url: String, _ replay: ReplayHandler, method: HTTPRequest.Method = .get, body: Body? = nil) throws
        -> [RecordingDelegate.Event]
    {
        let delegate = RecordingDelegate()
        loader(replay, source.handler).task(for: try Request(url, method: method, body: body), delegate: delegate).resume()
        return delegate.events
    }

    private func recording(of urls: String...) throws -> Recording {
        let replay = ReplayHandler(Recording(), mode: .record)
        for url in urls { _ = try events(url, replay) }
        return replay.recording
    }

    private func urls(_ recording: Recording) -> [String] { recording.transactions.map(\.url.description) }

    /// The events of a test with the body in one piece, as HAR stores it.
    private func whole(_ events: [RecordingDelegate.Event]) -> [RecordingDelegate.Event] {
        events.reduce(into: []) { whole, event in
            if case .data(let bytes) = event, case .data(let before)? = whole.last {
                whole[whole.count - 1] = .data(before + bytes)
            } else {
                whole.append(event)
            }
        }
    }

    @Test(arguments: Recording.Form.allCases, ["x:plain", "x:redirect", "x:fails"])
    func recordedLoadIsReplayedWithTheSameEvents(form: Recording.Form, url: String) throws {
        let recorder = ReplayHandler(Recording(), mode: .record)
        let loaded = try events(url, recorder)
        let bytes = recorder.recording.bytes(as: form)
        let requestCount = source.requestedURLs.withLock { $0.count }
        let played = try events(url, ReplayHandler(try Recording(parsing: bytes)))
        #expect(form == .json ? played == loaded : played == whole(loaded))
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

    @Test func strictLoadsNothing() throws {
        let replay = ReplayHandler(try recording(of: "x:one"))
        #expect(try events("x:two", replay) == [.failed(.notFound)])
        #expect(source.requestedURLs.withLock { $0 } == ["x:one"] && replay.recording.count == 1)
    }

    @Test(arguments: Recording.Form.allCases) func fillLoadsAndAddsMissingEntries(form: Recording.Form) throws {
        let read = try Recording(parsing: recording(of: "x:one").bytes(as: form))
        let replay = ReplayHandler(read, mode: .fill)
        for url in ["x:one", "x:redirect", "x:fails"] { _ = try events(url, replay) }
        #expect(source.requestedURLs.withLock { $0 } == ["x:one", "x:redirect", "x:there", "x:fails"])
        #expect(urls(replay.recording) == ["x:one", "x:redirect", "x:there", "x:fails"])
        let filled = try Recording(parsing: replay.recording.bytes(as: form))
        #expect(urls(filled) == ["x:one", "x:redirect", "x:there", "x:fails"])
        #expect(try events("x:fails", ReplayHandler(filled)) == [.failed(.nameNotFound)])
    }

    @Test func fillReloadsAnIncompleteEntry() throws {
        var part = try recording(of: "x:one")
        var transaction = Transaction(.get, try URLRecord(parsing: "x:two"), began: 0)
        transaction.append(.response(Response(url: transaction.url)), at: .zero)
        transaction.append(.interrupted("interrupted"), at: .zero)
        part.add(transaction)
        let replay = ReplayHandler(try Recording(parsing: part.bytes(as: .json)), mode: .fill)
        #expect(try events("x:two", replay).last == .finished)
        #expect(source.requestedURLs.withLock { $0 } == ["x:one", "x:two"])
        // The complete transaction is replayed, although the incomplete one stands first.
        let filled = try Recording(parsing: replay.recording.bytes(as: .json))
        #expect(filled.count == 3)
        #expect(try events("x:two", ReplayHandler(filled)).last == .finished)
    }

    @Test func fillReloadsAFailedEntry() throws {
        var failed = Recording()
        var transaction = Transaction(.get, try URLRecord(parsing: "x:one"), began: 0)
        transaction.append(.failed(LoadError(.timedOut, message: "too late")), at: .zero)
        failed.add(transaction)
        let read = try Recording(parsing: failed.bytes(as: .har))
        #expect(try events("x:one", ReplayHandler(read)) == [.failed(.timedOut)])
        let replay = ReplayHandler(read, mode: .fill)
        #expect(try events("x:one", replay).last == .finished)
        #expect(source.requestedURLs.withLock { $0 } == ["x:one"])
        // The response is replayed, although the failure stands first.
        let filled = try Recording(parsing: replay.recording.bytes(as: .har))
        #expect(filled.count == 2)
        #expect(try events("x:one", ReplayHandler(filled)).last == .finished)
        #expect(try events("x:one", ReplayHandler(filled, mode: .fill)).last == .finished)
        #expect(source.requestedURLs.withLock { $0.count } == 1)
    }

    @Test func repeatedFailureIsNotAddedAgain() throws {
        let read = try Recording(parsing: recording(of: "x:fails").bytes(as: .har))
        let replay = ReplayHandler(read, mode: .fill)
        #expect(try events("x:fails", replay) == [.failed(.nameNotFound)])
        #expect(source.requestedURLs.withLock { $0 } == ["x:fails", "x:fails"] && replay.recording.count == 1)
    }

    /// URLs in fields show no passwords either.
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
        let read = try #require(try Recording(parsing: recording.bytes(as: form)).transactions.first?.response)
        #expect(read.fields.map(\.value) == values.compactMap(\.2))
    }

    @Test func recordReloadsEveryRequest() throws {
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
            let read = try Recording(parsing: replay.recording.bytes(as: form))
            #expect(read.transactions.map(\.body) == [Array("a=1".utf8), [0xFF, 0xFE]])
            #expect(try events("x:form", ReplayHandler(read), method: .post, body: .bytes([1])) == [.failed(.notFound)])
            #expect(try events("x:form", ReplayHandler(read), method: .post, body: .bytes([0xFF, 0xFE])).last == .finished)
        }
    }

    @Test func startOfALargeBodyIsKept() throws {
        let piece = [UInt8](repeating: 7, count: 3 << 20)
        let large = StubHandler { _ in .pieces(Array(repeating: piece, count: 6)) }
        let replay = ReplayHandler(Recording(), mode: .record)
        var configuration = Loader.Configuration()
        configuration.handlers = [replay, large]
        let delegate = RecordingDelegate()
        Loader(configuration: configuration, registry: ProtocolRegistry()).task(for: try Request("x:large"), delegate: delegate).resume()
        #expect(delegate.body.count == 18 << 20)
        #expect(replay.recording.transactions.first?.incompleteness == "it has the first 16777216 bytes of 18874368")
    }

    @Test(arguments: Recording.Form.allCases) func partialBodyIsReadAsIncomplete(form: Recording.Form) throws {
        var (recording, transaction) = (Recording(), Transaction(.get, try URLRecord(parsing: "x:y"), began: 0))
        transaction.append(.response(Response(url: transaction.url)), at: .zero)
        transaction.append(.data([0xFF, 2], count: 5), at: .zero)
        transaction.append(.finished, at: .zero)
        recording.add(transaction)
        let read = try Recording(parsing: recording.bytes(as: form))
        #expect(read.transactions.first?.incompleteness == "it has the first 2 bytes of 5")
        #expect(try events("x:y", ReplayHandler(read)).last == .failed(.truncated))
    }

    /// Failures in the middle of a body, and loads that the caller cancelled.
    @Test(arguments: Recording.Form.allCases, [true, false]) func endOfALoadIsRead(form: Recording.Form, failed: Bool) throws {
        var (recording, transaction) = (Recording(), Transaction(.get, try URLRecord(parsing: "x:y"), began: 0))
        transaction.append(.response(Response(url: transaction.url)), at: .zero)
        transaction.append(.data([0xFF, 2], count: 2), at: .zero)
        transaction.append(failed ? .failed(LoadError(.ioFailed, message: "bad disk")) : .interrupted("interrupted"), at: .zero)
        recording.add(transaction)
        let played = try events("x:y", ReplayHandler(try Recording(parsing: recording.bytes(as: form))))
        #expect(played == [.response(transaction.url), .data([0xFF, 2]), .failed(failed ? .ioFailed : .truncated)])
    }
}
