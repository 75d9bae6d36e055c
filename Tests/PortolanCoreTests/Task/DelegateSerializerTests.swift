// SPDX-License-Identifier: Apache-2.0

import Dispatch
import PortolanTestSupport
import Synchronization
import Testing

@testable import PortolanCore

#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#endif

/// A delegate receives one call at a time, even if a nested load sends a challenge while its parent delivers an event.
@Suite(.timeLimit(.minutes(2))) struct DelegateSerializerTests {
    private let outer = ManualHandler(schemes: .only(["parent"]))
    private let inner = ManualHandler(schemes: .only(["x"]))

    /// Starts a task with a nested load. The test delivers the events of both loads.
    private func start(_ delegate: RecordingDelegate) throws -> (LoadTask, outer: ManualLoad, inner: ManualLoad) {
        let task = loader(outer, inner).task(for: try Request("parent:1"), delegate: delegate)
        task.resume()
        let load = try #require(outer.loads.first)
        load.client.makeNestedLoad(for: try Request("x:1"), client: load.client).startLoading()
        return (task, load, try #require(inner.loads.first))
    }

    private static func sendChallenge(_ load: ManualLoad, reply: @escaping @Sendable (ChallengeAnswer) -> Void = { _ in }) {
        let space = ProtectionSpace(kind: .password(scheme: ""), protocolName: "x", host: "h")
        load.client.didReceive(AuthenticationChallenge(protectionSpace: space, reply: reply))
    }

    @Test func challengeOfANestedLoadWaitsForTheRunningCall() throws {
        let nestedLoad = Mutex<ManualLoad?>(nil)
        let isInDataCall = Mutex(false)
        let callsOverlapped = Mutex(false)
        let delegate = RecordingDelegate { event, _ in
            guard event == .data([1]) else { return .keepGoing }
            isInDataCall.withLock { $0 = true }
            if let inner = nestedLoad.withLock({ $0 }) { Self.sendChallenge(inner) }
            isInDataCall.withLock { $0 = false }
            return .keepGoing
        } onChallenge: { _ in
            callsOverlapped.withLock { $0 = isInDataCall.withLock { $0 } }
        }
        let (task, load, inner) = try start(delegate)
        nestedLoad.withLock { $0 = inner }
        load.respond()
        #expect(load.deliver([1]) == .keepGoing)
        #expect(delegate.events.suffix(2) == [.data([1]), .challenge])
        #expect(!callsOverlapped.withLock { $0 })
        nestedLoad.withLock { $0 = nil }
        task.cancel()
    }

    @Test func eventsDuringAChallengeOfANestedLoadAreQueued() throws {
        let parentLoad = Mutex<ManualLoad?>(nil)
        let flows = Mutex<[Flow]>([])
        let delegate = RecordingDelegate(onChallenge: { _ in
            guard let load = parentLoad.withLock({ $0 }) else { return }
            flows.withLock { $0 = [load.respond()] }
            load.client.didReach(.firstByte)
        })
        let (task, load, inner) = try start(delegate)
        parentLoad.withLock { $0 = load }
        Self.sendChallenge(inner)
        #expect(flows.withLock { $0 } == [.pause])
        #expect(delegate.events.suffix(3) == [.challenge, .response(load.request.url), .step(.firstByte)])
        #expect(load.calls == [.start, .resume])
        #expect(load.deliver([1]) == .keepGoing)
        parentLoad.withLock { $0 = nil }
        task.cancel()
    }

    @Test func endDuringAChallengeOfANestedLoadIsDeliveredAfterTheChallenge() throws {
        let order = Mutex<[String]>([])
        let delegate = RecordingDelegate { event, _ in
            if case .failed = event { order.withLock { $0.append("end") } }
            return .keepGoing
        } onChallenge: { [outer] _ in
            outer.loads.first?.client.didFail(with: LoadError(.connectionLost, message: "lost"))
            order.withLock { $0.append("answered") }
        }
        let (_, _, inner) = try start(delegate)
        Self.sendChallenge(inner)
        #expect(order.withLock { $0 } == ["answered", "end"])
        #expect(delegate.events.last == .failed(.connectionLost))
        Self.sendChallenge(inner)
        #expect(delegate.events.filter { $0 == .challenge }.count == 1)
    }

    /// One thread delivers events. Another thread sends challenges of a nested load.
    @Test func callsFromTwoLoadsNeverOverlap() throws {
        let count = 2000
        let counts = ConditionLock((runningCalls: 0, overlaps: 0))
        let client = ConditionLock<(any ProtocolClient)?>(nil)
        let (hasChallenged, hasEnded) = (ConditionLock(false), ConditionLock(false))
        @Sendable func countCall() {
            counts.withLock {
                $0.runningCalls += 1
                if $0.runningCalls > 1 { $0.overlaps += 1 }
            }
            sched_yield()  // so that the other thread can call the delegate if the serializer does not prevent it
            counts.withLock { $0.runningCalls -= 1 }
        }
        let delegate = RecordingDelegate { event, _ in
            countCall()
            if event == .finished { hasEnded.withLockBroadcasting { $0 = true } }
            return .keepGoing
        } onChallenge: { challenge in
            countCall()
            challenge.answer(.cancel)
        }
        let scripted = ScriptedHandler(pieceCount: count) { newClient in
            client.withLockBroadcasting { $0 = newClient }
            // Nothing is delivered before the other thread runs, so that the calls can overlap.
            _ = hasChallenged.wait { $0 ? true : nil }
        }
        let task = loader(scripted, inner).task(for: try Request("scripted:1"), delegate: delegate)
        try PlatformThread.start { [inner] in
            let outer = client.wait { $0.take() }
            guard let request = try? Request("x:1") else { return }
            outer.makeNestedLoad(for: request, client: outer).startLoading()
            guard let load = inner.loads.first else { return }
            while !hasEnded.withLock({ $0 }) {
                let isAnswered = ConditionLock(false)
                Self.sendChallenge(load) { _ in isAnswered.withLockBroadcasting { $0 = true } }
                isAnswered.wait { $0 ? () : nil }
                hasChallenged.withLockBroadcasting { $0 = true }
            }
        }
        task.resume()
        _ = hasEnded.wait { $0 ? true : nil }
        #expect(counts.withLock { $0.overlaps } == 0)
        #expect(delegate.body.count == count)
        #expect(delegate.events.contains(.challenge))
    }

    /// A handler whose loads deliver pieces of one byte.
    private struct ScriptedHandler: ProtocolHandler {
        let identifier = "org.example.scripted"
        let schemes = SchemeSet.only(["scripted"])
        let pieceCount: Int
        let onMake: @Sendable (any ProtocolClient) -> Void

        func makeLoad(for request: Request, cachedResponse: CachedResponse?, client: any ProtocolClient) -> any ProtocolLoad {
            onMake(client)
            return ScriptedLoad(
                [.response(Response(url: request.url))] + (0..<pieceCount).map { _ in .data([1]) } + [.finish], client: client)
        }
    }
}

/// While a task is suspended, its delegate receives only failures.
@Suite(.timeLimit(.minutes(2))) struct SuspensionTests {
    private let handler = ManualHandler()

    private func start(_ delegate: RecordingDelegate) throws -> (LoadTask, ManualLoad) {
        let task = loader(handler).task(for: try Request("x:1"), delegate: delegate)
        task.resume()
        return (task, try #require(handler.loads.first))
    }

    @Test func suspendedTaskDeliversNothingBeforeTheResume() throws {
        let delegate = RecordingDelegate()
        let (task, load) = try start(delegate)
        task.suspend()
        load.client.didReach(.connected)
        #expect(load.respond() == .pause)
        #expect(delegate.events.isEmpty)
        task.resume()
        #expect(delegate.events == [.step(.connected), .response(load.request.url)])
        #expect(load.calls == [.start, .resume])
        task.cancel()
    }

    @Test func suspensionBetweenTwoPiecesDefersTheSecondPiece() throws {
        let delegate = RecordingDelegate()
        let (task, load) = try start(delegate)
        load.respond()
        #expect(load.deliver([1]) == .keepGoing)
        task.suspend()
        #expect(load.deliver([2]) == .pause)
        #expect(delegate.events.last == .data([1]))
        task.resume()
        #expect(delegate.events.last == .data([2]))
        #expect(load.deliver([3]) == .keepGoing)
        load.finish()
        #expect(delegate.events.suffix(2) == [.data([3]), .finished])
    }

    /// A cancelled task may never be resumed, so the cancel delivers the end.
    @Test(arguments: [true, false]) func cancelDeliversTheDeferredEnd(hasFailed: Bool) throws {
        let delegate = RecordingDelegate()
        let (task, load) = try start(delegate)
        load.respond()
        task.suspend()
        load.client.didReach(.connected)
        if hasFailed { load.client.didFail(with: LoadError(.notFound, message: "gone")) } else { load.finish() }
        let expected: [RecordingDelegate.Event] = [.response(load.request.url)] + (hasFailed ? [.failed(.notFound)] : [])
        #expect(delegate.events == expected)
        task.cancel()
        task.cancel()
        task.resume()
        #expect(delegate.events == [.response(load.request.url), .failed(hasFailed ? .notFound : .cancelled)])
    }

    /// For a delegate with a queue, a failure is deferred, too.
    @Test(arguments: [true, false]) func cancelDeliversTheDeferredEndOnAQueueOnce(hasFailed: Bool) async throws {
        let delegate = RecordingDelegate()
        let queue = DispatchQueue(label: "org.portolan.test.delegate")
        let task = loader(handler).task(
            for: try Request("x:1"), delegate: delegate, on: DeliveryQueue { job in queue.async { job() } })
        task.resume()
        let load = try #require(handler.loads.first)
        load.respond()
        task.suspend()
        queue.sync {}
        load.client.didReach(.connected)
        if hasFailed { load.client.didFail(with: LoadError(.notFound, message: "gone")) } else { load.finish() }
        task.cancel()
        await delegate.ended()
        #expect(delegate.events.count(where: { $0 == .failed(.cancelled) || $0 == .failed(.notFound) }) == 1)
    }

    @Test func pauseReturnedForADeferredEventPausesTheLoad() throws {
        let delegate = RecordingDelegate { event, _ in event == .data([1]) ? .pause : .keepGoing }
        let (task, load) = try start(delegate)
        load.respond()
        task.suspend()
        #expect(load.deliver([1]) == .pause)
        task.resume()
        #expect(delegate.events.last == .data([1]))
        #expect(load.calls == [.start])
        task.resume()
        #expect(load.calls == [.start, .resume])
        task.cancel()
    }

    @Test func stoppedReturnedForADeferredEventCancelsTheLoad() throws {
        let delegate = RecordingDelegate { event, _ in event == .data([1]) ? .stopped : .keepGoing }
        let (task, load) = try start(delegate)
        load.respond()
        task.suspend()
        load.deliver([1])
        task.resume()
        #expect(delegate.events.suffix(2) == [.data([1]), .failed(.cancelled)])
        #expect(load.calls == [.start, .stop])
    }

    @Test(arguments: [true, false])
    func suspendedTaskDeliversAFailure(isCancelled: Bool) throws {
        let delegate = RecordingDelegate()
        let (task, load) = try start(delegate)
        load.respond()
        task.suspend()
        load.deliver([1])
        if isCancelled { task.cancel() } else { load.client.didFail(with: LoadError(.connectionLost, message: "lost")) }
        #expect(delegate.events == [.response(load.request.url), .failed(isCancelled ? .cancelled : .connectionLost)])
        task.resume()
        #expect(delegate.events.count == 2)
    }

    @Test func aFinishWaitsForTheResume() throws {
        let delegate = RecordingDelegate()
        let (task, load) = try start(delegate)
        load.respond()
        task.suspend()
        load.finish()
        #expect(delegate.events.count == 1)
        task.resume()
        #expect(delegate.events.last == .finished)
    }
}
