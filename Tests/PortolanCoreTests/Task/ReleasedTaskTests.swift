// SPDX-License-Identifier: Apache-2.0

import PortolanTestSupport
import Synchronization
import Testing

@testable import PortolanCore

/// Tasks whose last reference is released while they are suspended.
@Suite("Released tasks", .timeLimit(.minutes(2))) struct ReleasedTaskTests {
    /// Weak references to the objects that must be freed.
    private final class WeakReferences {
        weak var task: LoadTask?
        weak var loader: Loader?
        weak var delegate: RecordingDelegate?

        func set(_ task: LoadTask, _ loader: Loader, _ delegate: RecordingDelegate) {
            (self.task, self.loader, self.delegate) = (task, loader, delegate)
        }

        var areAllFreed: Bool { task == nil && loader == nil && delegate == nil }
    }

    /// The progress of a load when its task is suspended and released.
    enum Progress: CaseIterable, Sendable {
        case start, response, data

        /// Delivers the events that bring the load from its start to this progress.
        func advance(_ load: ManualLoad) {
            guard self != .start else { return }
            load.respond()
            if self == .data { load.deliver("data") }
        }
    }

    @Test(arguments: Progress.allCases)
    func aSuspendedTaskIsFreedAndItsLoadStopped(at progress: Progress) throws {
        let handler = ManualHandler()
        let references = WeakReferences()
        do {
            let delegate = RecordingDelegate()
            let loader = loader(handler)
            let task = loader.task(for: try Request("x:1"), delegate: delegate)
            references.set(task, loader, delegate)
            task.resume()
            progress.advance(try #require(handler.loads.first))
            task.suspend()
        }
        let load = try #require(handler.loads.first)
        #expect(references.areAllFreed)
        #expect(load.calls == [.start, .stop])
        #expect(load.respond() == .stopped)
    }

    /// A delegate that pauses its load at each piece of data, and also at the response if `progress` is `response`.
    private static func pausingDelegate(at progress: Progress) -> RecordingDelegate {
        RecordingDelegate { event, _ in
            switch event {
            case .response: progress == .response ? .pause : .keepGoing
            case .data: .pause
            default: .keepGoing
            }
        }
    }

    @Test(arguments: [Progress.response, .data], [false, true])
    func aPausedTaskIsFreedAndItsLoadStopped(at progress: Progress, isResumedBefore: Bool) throws {
        let handler = ManualHandler()
        let references = WeakReferences()
        do {
            let delegate = Self.pausingDelegate(at: progress)
            let loader = loader(handler)
            let task = loader.task(for: try Request("x:1"), delegate: delegate)
            references.set(task, loader, delegate)
            task.resume()
            let load = try #require(handler.loads.first)
            progress.advance(load)
            if isResumedBefore {
                task.resume()
                load.deliver("more")
            }
        }
        let load = try #require(handler.loads.first)
        #expect(references.areAllFreed)
        #expect(load.calls == (isResumedBefore ? [.start, .resume, .stop] : [.start, .stop]))
        #expect(load.deliver("late") == .stopped)
    }

    @Test func aPausedTaskOnAQueueIsFreedAndItsLoadStopped() throws {
        let handler = ManualHandler()
        let references = WeakReferences()
        let jobs = Mutex<[@Sendable () -> Void]>([])
        do {
            let delegate = Self.pausingDelegate(at: .response)
            let loader = loader(handler)
            let queue = DeliveryQueue { job in jobs.withLock { $0.append(job) } }
            let task = loader.task(for: try Request("x:1"), delegate: delegate, on: queue)
            references.set(task, loader, delegate)
            task.resume()
            try #require(handler.loads.first).respond()
        }
        #expect(references.task != nil)
        for job in jobs.withLock({ $0 }) { job() }
        jobs.withLock { $0 = [] }
        #expect(references.areAllFreed)
        #expect(handler.loads.first?.calls == [.start, .stop])
    }

    /// The test releases the task after the resume. The load retains the task until the end.
    @Test func aPausedTaskThatIsResumedLivesUntilItsEnd() throws {
        let handler = ManualHandler()
        let references = WeakReferences()
        do {
            let delegate = Self.pausingDelegate(at: .response)
            let loader = loader(handler)
            let task = loader.task(for: try Request("x:1"), delegate: delegate)
            references.set(task, loader, delegate)
            task.resume()
            try #require(handler.loads.first).respond()
            task.resume()
        }
        let load = try #require(handler.loads.first)
        #expect(references.task?.state == .running)
        load.finish()
        #expect(references.areAllFreed)
        #expect(load.calls == [.start, .resume])
    }

    /// If the task is resumed before the delegate returns `.pause`, the load continues.
    @Test func resumeBeforeThePauseReturnsKeepsTheTaskAlive() throws {
        let handler = ManualHandler()
        let references = WeakReferences()
        do {
            let delegate = RecordingDelegate { event, task in
                guard case .response = event else { return .keepGoing }
                task.resume()
                return .pause
            }
            let loader = loader(handler)
            let task = loader.task(for: try Request("x:1"), delegate: delegate)
            references.set(task, loader, delegate)
            task.resume()
            #expect(try #require(handler.loads.first).respond() == .keepGoing)
        }
        #expect(references.task?.state == .running)
        try #require(handler.loads.first).finish()
        #expect(references.areAllFreed)
    }

    /// A delegate that decides about a redirect later retains only the closure for its decision.
    @Test func taskLivesWhileItsRedirectIsUndecided() throws {
        let handler = ManualHandler()
        let references = WeakReferences()
        let decision = Mutex<(@Sendable (RedirectDecision) -> Void)?>(nil)
        do {
            let delegate = RecordingDelegate(onRedirect: { _, decide in decision.withLock { $0 = decide } })
            let loader = loader(handler)
            let task = loader.task(for: try Request("x:1"), delegate: delegate)
            references.set(task, loader, delegate)
            task.resume()
            #expect(try #require(handler.loads.first).redirect(to: URLRecord(parsing: "x:2")) == .pause)
        }
        #expect(references.task?.state == .running)
        let decide = try #require(decision.withLock { $0.take() })
        decide(.follow(try Request("x:2")))
        try #require(handler.loads.last).respond()
        try #require(handler.loads.last).finish()
        #expect(handler.loads.count == 2 && references.areAllFreed)
    }

    @Test func aRunningTaskLivesUntilItsEnd() throws {
        let handler = ManualHandler()
        let references = WeakReferences()
        do {
            let delegate = RecordingDelegate()
            let loader = loader(handler)
            let task = loader.task(for: try Request("x:1"), delegate: delegate)
            references.set(task, loader, delegate)
            task.resume()
            task.suspend()
            task.resume()
        }
        let load = try #require(handler.loads.first)
        #expect(references.task?.state == .running)
        load.respond()
        #expect(references.delegate?.events.count == 1)
        load.finish()
        #expect(references.areAllFreed)
    }

    @Test func pendingTimerDoesNotRetainTheTask() throws {
        let clock = ManualClock()
        let handler = ManualHandler()
        let references = WeakReferences()
        do {
            let delegate = RecordingDelegate()
            let loader = loader(handler) { $0.clock = clock }
            let task = loader.task(for: try Request("x:1"), delegate: delegate)
            references.set(task, loader, delegate)
            task.resume()
            task.suspend()
        }
        #expect(references.areAllFreed)
        #expect(clock.pendingTimerCount == 0)
    }

    /// A challenge that waits for its answer does not retain the task.
    @Test func suspendedTaskIsFreedDuringAChallenge() throws {
        let handler = ManualHandler()
        let references = WeakReferences()
        let receivedChallenge = Mutex<AuthenticationChallenge?>(nil)
        do {
            let delegate = RecordingDelegate(onChallenge: { challenge in receivedChallenge.withLock { $0 = challenge } })
            let loader = loader(handler)
            let task = loader.task(for: try Request("x:1"), delegate: delegate)
            references.set(task, loader, delegate)
            task.resume()
            let load = try #require(handler.loads.first)
            let space = ProtectionSpace(kind: .password(scheme: "basic"), protocolName: "x", host: "h")
            load.client.didReceive(AuthenticationChallenge(protectionSpace: space) { _ in })
            task.suspend()
        }
        let load = try #require(handler.loads.first)
        #expect(references.task == nil)
        #expect(references.loader == nil)
        #expect(load.calls == [.start, .stop])
        receivedChallenge.withLock { $0.take() }?.answer(.cancel)
        #expect(references.areAllFreed)
    }

    /// The task is suspended, and the nested load runs.
    @Test func suspendedTaskIsFreedWithItsNestedLoads() throws {
        let outer = ManualHandler(schemes: .only(["parent"]))
        let inner = ManualHandler(schemes: .only(["nested"]))
        let references = WeakReferences()
        let client = RecordingClient()
        do {
            let delegate = RecordingDelegate()
            let loader = loader(outer, inner)
            let task = loader.task(for: try Request("parent:1"), delegate: delegate)
            references.set(task, loader, delegate)
            task.resume()
            let load = try #require(outer.loads.first)
            load.client.makeNestedLoad(for: try Request("nested:1"), client: client).startLoading()
            load.client.makeLoadByNextHandler(for: try Request("nested:2"), client: client).startLoading()
            #expect(inner.loads.count == 2)
            task.suspend()
        }
        #expect(references.areAllFreed)
        #expect(outer.loads.first?.calls == [.start, .stop])
        #expect(inner.loads.first?.calls == [.start, .stop])
    }

    @Test(arguments: [false, true])
    func releasedSuspendedTaskCallsItsCompletionHandler(withDelegate: Bool) async throws {
        let handler = ManualHandler()
        let request = try Request("x:1")
        let result = await withCheckedContinuation { continuation in
            let delegate = withDelegate ? RecordingDelegate() : nil
            loader(handler).load(request, delegate: delegate) { continuation.resume(returning: $0) }.suspend()
        }
        #expect(throws: LoadError.self) { try result.get() }
        guard case .failure(let error) = result else { return }
        #expect(error.code == .cancelled)
        #expect(handler.loads.first?.calls == [.start, .stop])
    }
}
