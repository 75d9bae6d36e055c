// SPDX-License-Identifier: Apache-2.0

import HTTPTypes
import PortolanTestSupport
import Synchronization
import Testing

@testable import PortolanCore

/// The event queue of a slow or suspended delegate has a limit, whatever events a handler sends.
@Suite("Events that wait for their delegate", .timeLimit(.minutes(2))) struct DelegateEventQueueTests {
    private static func challenge() -> AuthenticationChallenge {
        let space = ProtectionSpace(kind: .password(scheme: ""), protocolName: "x", host: "h")
        return AuthenticationChallenge(protectionSpace: space) { _ in }
    }

    private func isData(_ event: DelegateEvent?, _ count: Int) -> Bool {
        if case .data(let bytes)? = event { bytes.count == count } else { false }
    }

    @Test func smallPiecesAreCombined() {
        var queue = DelegateEventQueue()
        for index in 0..<40_000 { _ = queue.append(.data([UInt8(truncatingIfNeeded: index)])) }
        let countLimit = DelegateEventQueue.mergeThreshold + 3
        #expect(queue.count == queue.deliveryCount)
        #expect(queue.count < countLimit)
        #expect(queue.size == 40_000 + queue.count * DelegateEvent.overhead)
        var bytes: [UInt8] = []
        while let event = queue.removeFirst(isSuspended: false) {
            if case .data(let piece) = event { bytes += piece }
        }
        #expect(bytes == (0..<40_000).map { UInt8(truncatingIfNeeded: $0) })
        #expect(queue.size == 0)
        #expect(queue.deliveryCount == 0)
    }

    @Test func largePieceIsNotCombined() {
        var queue = DelegateEventQueue()
        _ = queue.append(.data([1]))
        _ = queue.append(.data([UInt8](repeating: 2, count: 16 << 10)))
        #expect(queue.count == 2)
        #expect(isData(queue.removeFirst(isSuspended: false), 1))
        #expect(isData(queue.removeFirst(isSuspended: false), 16 << 10))
    }

    @Test func sizeIncludesTheOverheadOfEachSeparatePiece() {
        var queue = DelegateEventQueue()
        for _ in 0..<100 {
            _ = queue.append(.data([1]))
            _ = queue.append(.sent)
        }
        #expect(queue.count == 200)
        #expect(queue.size == 100 * (1 + DelegateEvent.overhead))
    }

    @Test("A queue that is never empty frees the memory of removed events")
    func removedEventsAreFreedWhileOthersWait() throws {
        var queue = DelegateEventQueue()
        _ = queue.append(.interim(Response(url: try Request("x:1").url)))
        for _ in 0..<10_000 {
            _ = queue.append(.trailers([:]))
            _ = queue.removeFirst(isSuspended: false)
        }
        #expect(queue.count == 1)
        let stored = Mirror(reflecting: queue).children.first { $0.label == "events" }?.value as? [DelegateEvent]
        #expect(try #require(stored).count < 200)
    }

    @Test func cancelRemovesAnUndeliveredChallenge() {
        var queue = DelegateEventQueue()
        for _ in 0..<1000 {
            let challenge = Self.challenge()
            _ = queue.append(.challenge(challenge))
            _ = queue.append(.challengeCancelled(challenge))
        }
        #expect(queue.isEmpty)
        let (queuedChallenge, otherChallenge) = (Self.challenge(), Self.challenge())
        _ = queue.append(.challenge(queuedChallenge))
        _ = queue.append(.challengeCancelled(otherChallenge))
        #expect(queue.count == 2)
    }

    /// The handler continues after each pause, and the delegate is suspended or its queue runs no job.
    @Test(arguments: [false, true])
    func aLoadWithTooManyWaitingEventsFails(isSuspended: Bool) throws {
        let handler = ManualHandler()
        let jobs = Mutex<[@Sendable () -> Void]>([])
        let queue = DeliveryQueue { job in jobs.withLock { $0.append(job) } }
        let delegate = RecordingDelegate(onChallenge: { $0.answer(.cancel) })
        let task = loader(handler).task(for: try Request("x:1"), delegate: delegate, on: isSuspended ? .immediate : queue)
        task.resume()
        if isSuspended { task.suspend() }
        let load = try #require(handler.loads.first)
        var count = 0
        while load.calls == [.start], count < 100_000 {
            load.client.didReceive(Self.challenge())
            count += 1
        }
        #expect(load.calls == [.start, .stop])
        #expect(count == DelegateEventQueue.maximumCount + 1)
        while let job = jobs.withLock({ $0.popLast() }) { job() }
        task.resume()
        #expect(delegate.error?.code == .limitExceeded)
    }

    /// While a call of the delegate does not return, the events of nested loads are queued, too.
    @Test func loadWithTooManyWaitingEventsOfNestedLoadsFails() throws {
        let outer = ManualHandler(schemes: .only(["parent"]))
        let inner = StubHandler(schemes: .only(["nested"])) { _ in .text("x") }
        let count = Mutex(0)
        let delegate = RecordingDelegate { event, _ in
            guard case .response = event, let load = outer.loads.first, let request = try? Request("nested:1") else { return .keepGoing }
            while load.calls == [.start], count.withLock({ $0 }) < 100_000 {
                load.client.makeNestedLoad(for: request, client: RecordingClient()).startLoading()
                count.withLock { $0 += 1 }
            }
            return .keepGoing
        }
        loader(outer, inner).task(for: try Request("parent:1"), delegate: delegate).resume()
        let load = try #require(outer.loads.first)
        #expect(load.respond() == .stopped)
        #expect(delegate.error?.code == .limitExceeded)
        #expect(delegate.error?.message.contains("\(DelegateEventQueue.maximumCount) events") == true)
        // Each nested load has a beginning and an end.
        #expect(count.withLock { $0 } == DelegateEventQueue.maximumCount / 2 + 1)
    }

    @Test func stepsBeyondTheLimitOfTheMetricsAreNotDelivered() throws {
        let handler = ManualHandler()
        let delegate = RecordingDelegate()
        let task = loader(handler).task(for: try Request("x:1"), delegate: delegate)
        task.resume()
        let load = try #require(handler.loads.first)
        for _ in 0..<5000 { load.client.didReach(.connected) }
        let recordedCount = task.metrics.steps.count
        #expect(recordedCount < 5000 && delegate.events.count == recordedCount)
        // The queue of a suspended task drops these steps, too, instead of failing the load.
        task.suspend()
        for _ in 0..<2 * DelegateEventQueue.maximumCount { load.client.didReach(.connected) }
        task.resume()
        load.respond()
        load.finish()
        #expect(delegate.error == nil && delegate.events.count == recordedCount + 2)
    }
}
