// SPDX-License-Identifier: Apache-2.0

import PortolanTestSupport
import Synchronization
import Testing

@testable import PortolanCore

@Suite(.timeLimit(.minutes(2))) struct NestedLoadTests {
    @Test func nestedLoadDeliversToItsClient() async throws {
        let loader = loader(RelayHandler(), StubHandler(schemes: .only(["x"])) { _ in .text("inner") })
        #expect(try await String(decoding: loader.data(from: "relay:relay:relay:x:1").0, as: UTF8.self) == "inner")
    }

    @Test func nestingBeyondTheLimitFails() async throws {
        let loader = loader(RelayHandler(), StubHandler(schemes: .only(["x"])) { _ in .text("inner") }) { $0.nestingLimit = 2 }
        #expect(try await String(decoding: loader.data(from: "relay:relay:x:1").0, as: UTF8.self) == "inner")
        let error = try await #require(throws: LoadError.self) { try await loader.data(from: "relay:relay:relay:x:1") }
        #expect(error.code == .nestedTooDeep)
    }

    @Test func handlerIsNotUsedForItsOwnRequest() async throws {
        let error = try await #require(throws: LoadError.self) {
            try await loader(RelayHandler(removesPrefix: false)).data(from: "relay:x")
        }
        #expect(error.code == .unsupportedScheme)
        #expect(error.message.contains("own request"))
        #expect(error.message.hasSuffix("; use another URL for the nested load"))
    }

    /// The redirect policy applies to the nested request.
    @Test func redirectOfANestedHTTPLoadLeadsToHTTPOnly() async throws {
        let target = try URLRecord(parsing: "relay:file:///etc/passwd")
        let loader = loader(
            RelayHandler(), StubHandler(schemes: .only(["http"])) { _ in .redirect(to: target) },
            StubHandler(schemes: .only(["file"])) { _ in .text("secret") })
        let error = try await #require(throws: LoadError.self) { try await loader.data(from: "relay:http://h/") }
        #expect(error.code == .badRedirect)
    }

    @Test func cancellingATaskStopsItsNestedLoads() async throws {
        let inner = ManualHandler(schemes: .only(["x"]))
        let delegate = RecordingDelegate()
        let task = loader(RelayHandler(), inner).task(for: try Request("relay:x:1"), delegate: delegate)
        task.resume()
        let load = try #require(inner.loads.first)
        load.respond()
        task.cancel()
        #expect(load.calls == [.start, .stop])
        #expect(delegate.events.last == .failed(.cancelled))
    }

    @Test func unfinishedNestedLoadIsStoppedWithoutAViolation() async throws {
        let violations = Mutex<[ContractRule]>([])
        let inner = ManualHandler(schemes: .only(["x"]))
        let outer = ManualHandler(schemes: .only(["parent"])) { load in
            guard let request = try? Request("x:1") else { return }
            load.client.makeNestedLoad(for: request, client: load.client).startLoading()
            load.respond()
            load.finish()
        }
        let loader = loader(outer, inner) { $0.violationObserver = { rule, _ in violations.withLock { $0.append(rule) } } }
        _ = try await loader.data(from: "parent:x")
        #expect(inner.loads.first?.calls == [.start, .stop])
        #expect(violations.withLock { $0 }.isEmpty)
    }

    @Test func nestedLoadStoppedBeforeItsStartIsNotReported() throws {
        let inner = ManualHandler(schemes: .only(["x"]))
        let outer = ManualHandler(schemes: .only(["parent"])) { load in
            guard let request = try? Request("x:1") else { return }
            let nested = load.client.makeNestedLoad(for: request, client: load.client)
            nested.stopLoading()
            nested.startLoading()
            load.respond()
            load.finish()
        }
        let delegate = RecordingDelegate()
        loader(outer, inner).task(for: try Request("parent:x"), delegate: delegate).resume()
        #expect(delegate.events == [.response(try URLRecord(parsing: "parent:x")), .finished])
        #expect(inner.loads.isEmpty)
    }

    /// The delegate stops the nested load when it receives the beginning, before the handler starts the load.
    @Test func nestedLoadStoppedDuringItsStartReportsBeginningAndEnd() throws {
        let inner = ManualHandler(schemes: .only(["x"]))
        let outer = ManualHandler(schemes: .only(["parent"]))
        let nested = Mutex<(any ProtocolLoad)?>(nil)
        let delegate = RecordingDelegate { event, _ in
            if case .nestedLoadBegan = event { nested.withLock { $0 }?.stopLoading() }
            return .keepGoing
        }
        loader(outer, inner).task(for: try Request("parent:x"), delegate: delegate).resume()
        let load = try #require(outer.loads.first)
        let nestedLoad = load.client.makeNestedLoad(for: try Request("x:1"), client: load.client)
        nested.withLock { $0 = nestedLoad }
        nestedLoad.startLoading()
        let url = try URLRecord(parsing: "x:1")
        #expect(delegate.events == [.nestedLoadBegan(url, depth: 1), .nestedLoadEnded(url, .cancelled)])
        #expect(inner.loads.isEmpty)
        load.finish()
    }

    @Test func aPauseReachesTheNestedLoad() async throws {
        let inner = ManualHandler(schemes: .only(["x"]))
        let delegate = RecordingDelegate { event, _ in event == .data([1]) ? .pause : .keepGoing }
        let task = loader(RelayHandler(), inner).task(for: try Request("relay:x:1"), delegate: delegate)
        task.resume()
        let load = try #require(inner.loads.first)
        load.respond()
        #expect(load.deliver([1]) == .pause)
        task.resume()
        #expect(load.calls == [.start, .resume])
    }

    @Test func redirectsAndChallengesOfNestedLoadsReachTheDelegate() async throws {
        let target = try URLRecord(parsing: "x:2")
        let inner = ManualHandler(schemes: .only(["x"])) { load in
            if load.request.url.path == "1" {
                load.redirect(to: target)
                return
            }
            let space = ProtectionSpace(kind: .password(scheme: ""), protocolName: "x", host: "h")
            load.client.didReceive(
                AuthenticationChallenge(protectionSpace: space) { answer in
                    load.respond()
                    if case .use(.password(let user, _, _)) = answer { load.deliver(user) }
                    load.finish()
                })
        }
        let delegate = RecordingDelegate(onChallenge: { $0.answer(.use(.password(user: "me", password: ""))) })
        loader(RelayHandler(), inner).task(for: try Request("relay:x:1"), delegate: delegate).resume()
        #expect(delegate.events.prefix(3) == [.nestedLoadBegan(try URLRecord(parsing: "x:1"), depth: 1), .redirect(target), .challenge])
        #expect(delegate.text == "me")
    }

    @Test func nestedLoadsAreReportedAtEveryDepth() throws {
        let delegate = RecordingDelegate()
        let loader = loader(RelayHandler(), StubHandler(schemes: .only(["x"])) { _ in .text("inner") })
        loader.task(for: try Request("relay:relay:x:1"), delegate: delegate).resume()
        let (middle, innermost) = (try URLRecord(parsing: "relay:x:1"), try URLRecord(parsing: "x:1"))
        #expect(
            delegate.events == [
                .nestedLoadBegan(middle, depth: 1), .nestedLoadBegan(innermost, depth: 2), .response(innermost), .data(Array("inner".utf8)),
                .nestedLoadEnded(innermost, nil), .nestedLoadEnded(middle, nil), .finished,
            ])
    }

    @Test func failureOfANestedLoadIsReported() throws {
        let delegate = RecordingDelegate()
        loader(RelayHandler()).task(for: try Request("relay:x:1"), delegate: delegate).resume()
        let inner = try URLRecord(parsing: "x:1")
        #expect(
            delegate.events == [
                .nestedLoadBegan(inner, depth: 1), .nestedLoadEnded(inner, .unsupportedScheme), .failed(.unsupportedScheme),
            ])
    }

    @Test func cancelReportsTheEndOfEachNestedLoad() throws {
        let delegate = RecordingDelegate()
        let task = loader(RelayHandler(), ManualHandler(schemes: .only(["x"]))).task(
            for: try Request("relay:relay:x:1"), delegate: delegate)
        task.resume()
        task.cancel()
        let (middle, innermost) = (try URLRecord(parsing: "relay:x:1"), try URLRecord(parsing: "x:1"))
        #expect(
            delegate.events == [
                .nestedLoadBegan(middle, depth: 1), .nestedLoadBegan(innermost, depth: 2), .nestedLoadEnded(innermost, .cancelled),
                .nestedLoadEnded(middle, .cancelled),
                .failed(.cancelled),
            ])
    }

    /// The delegate cancels the task when it receives data of the innermost load.
    @Test func nestedLoadsEndFirstIfCancelledDuringADelivery() throws {
        let delegate = RecordingDelegate { event, task in
            if case .data = event { task.cancel() }
            return .keepGoing
        }
        let loader = loader(RelayHandler(), StubHandler(schemes: .only(["x"])) { _ in .text("inner") })
        loader.task(for: try Request("relay:relay:x:1"), delegate: delegate).resume()
        let (middle, innermost) = (try URLRecord(parsing: "relay:x:1"), try URLRecord(parsing: "x:1"))
        #expect(
            delegate.events.suffix(3) == [
                .nestedLoadEnded(innermost, .cancelled), .nestedLoadEnded(middle, .cancelled), .failed(.cancelled),
            ])
        #expect(delegate.events.count == 7)
    }

    @Test func delegateOnAQueueReceivesEventsOfNestedLoads() throws {
        let queue = ManualQueue()
        let delegate = RecordingDelegate()
        let loader = loader(RelayHandler(), StubHandler(schemes: .only(["x"])) { _ in .text("inner") })
        loader.task(for: try Request("relay:x:1"), delegate: delegate, on: DeliveryQueue { queue.add($0) }).resume()
        queue.runAll()
        let inner = try URLRecord(parsing: "x:1")
        #expect(
            delegate.events == [
                .nestedLoadBegan(inner, depth: 1), .response(inner), .data(Array("inner".utf8)), .nestedLoadEnded(inner, nil), .finished,
            ])
    }

    /// A cancellation removes queued events, but not the beginnings and ends of nested loads.
    @Test func delegateOnAQueueReceivesTheEndOfEachNestedLoad() throws {
        let queue = ManualQueue()
        let delegate = RecordingDelegate()
        let handler = ManualHandler(schemes: .only(["x"]))
        let task = loader(RelayHandler(), handler).task(
            for: try Request("relay:x:1"), delegate: delegate, on: DeliveryQueue { queue.add($0) })
        task.resume()
        handler.loads.first?.respond()
        task.cancel()
        queue.runAll()
        let inner = try URLRecord(parsing: "x:1")
        #expect(delegate.events == [.nestedLoadBegan(inner, depth: 1), .nestedLoadEnded(inner, .cancelled), .failed(.cancelled)])
    }

    /// A handler of `relay:URL`. It loads URL with a nested load, whose events go to its own client.
    private struct RelayHandler: ProtocolHandler {
        let identifier = "org.example.relay"
        let schemes = SchemeSet.only(["relay"])
        /// Whether the URL of the nested load is the URL without `relay:`. Otherwise, it is the same URL.
        var removesPrefix = true

        func makeLoad(for request: Request, cachedResponse: CachedResponse?, client: any ProtocolClient) -> any ProtocolLoad {
            var inner = request
            let text = removesPrefix ? String(request.url.description.dropFirst("relay:".count)) : request.url.description
            guard let url = try? URLRecord(parsing: text) else {
                return FailedLoad(LoadError(.badURL, message: "no nested URL"), client: client)
            }
            inner.url = url
            return RelayLoad(inner, client)
        }
    }

    private final class RelayLoad: ProtocolLoad {
        private let request: Request
        private let client: any ProtocolClient
        private let inner = Mutex<(any ProtocolLoad)?>(nil)

        init(_ request: Request, _ client: any ProtocolClient) {
            self.request = request
            self.client = client
        }

        func startLoading() {
            let load = client.makeNestedLoad(for: request, client: client)
            inner.withLock { $0 = load }
            load.startLoading()
        }
        func stopLoading() { inner.withLock { $0 }?.stopLoading() }
        func resumeLoading() { inner.withLock { $0 }?.resumeLoading() }
    }
}
