// SPDX-License-Identifier: Apache-2.0

import PortolanTestSupport
import Synchronization
import Testing

@testable import PortolanCore

/// Tasks whose last reference is released while they are suspended.
@Suite("Released tasks", .timeLimit(.minutes(2))) struct ReleasedTaskTests {
    /// Weak references to the objects that must be freed.
    private final class Released {
        weak var task: LoadTask?
        weak var loader: Loader?
        weak var delegate: RecordingDelegate?

        func set(_ task: LoadTask, _ loader: Loader, _ delegate: RecordingDelegate) {
            (self.task, self.loader, self.delegate) = (task, loader, delegate)
        }

        var isFreed: Bool { task == nil && loader == nil && delegate == nil }
    }

    /// The progress of a load when its task is suspended and released.
    enum Progress: CaseIterable, Sendable {
        case start, response, data

        func advance(_ load: ManualLoad) {
            guard self != .start else { return }
            load.respond()
            if self == .data { load.deliver("data") }
        }
    }

    @Test(arguments: Progress.allCases)
    func aSuspendedTaskIsFreedAndItsLoadStopped(at progress: Progress) throws {
        let handler = ManualHandler()
        let released = Released()
        do {
            let delegate = RecordingDelegate()
            let loader = loader(handler)
            let task = loader.task(for: try Request("x:1"), delegate: delegate)
            released.set(task, loader, delegate)
            task.resume()
            progress.advance(try #require(handler.loads.first))
            task.suspend()
        }
        let load = try #require(handler.loads.first)
        #expect(released.isFreed)
        #expect(load.calls == [.start, .stop])
        #expect(load.respond() == .stopped)
    }

    /// A delegate that pauses its load at each response or piece of data, and retains nothing.
    private static func pausing(at progress: Progress) -> RecordingDelegate {
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
        let released = Released()
        do {
            let delegate = Self.pausing(at: progress)
            let loader = loader(handler)
            let task = loader.task(for: try Request("x:1"), delegate: delegate)
            released.set(task, loader, delegate)
            task.resume()
            let load = try #require(handler.loads.first)
            progress.advance(load)
            if isResumedBefore {
                task.resume()
                load.deliver("more")
            }
        }
        let load = try #require(handler.loads.first)
        #expect(released.isFreed)
        #expect(load.calls == (isResumedBefore ? [.start, .resume, .stop] : [.start, .stop]))
        #expect(load.deliver("late") == .stopped)
    }

    @Test func aPausedTaskOnAQueueIsFreedAndItsLoadStopped() throws {
        let handler = ManualHandler()
        let released = Released()
        let jobs = Mutex<[@Sendable () -> Void]>([])
        do {
            let delegate = Self.pausing(at: .response)
            let loader = loader(handler)
            let queue = DeliveryQueue { job in jobs.withLock { $0.append(job) } }
            let task = loader.task(for: try Request("x:1"), delegate: delegate, on: queue)
            released.set(task, loader, delegate)
            task.resume()
            try #require(handler.loads.first).respond()
        }
        #expect(released.task != nil)
        for job in jobs.withLock({ $0 }) { job() }
        jobs.withLock { $0 = [] }
        #expect(released.isFreed)
        #expect(handler.loads.first?.calls == [.start, .stop])
    }

    /// Nothing else retains the task between the resume and the end.
    @Test func aPausedTaskThatIsResumedLivesUntilItsEnd() throws {
        let handler = ManualHandler()
        let released = Released()
        do {
            let delegate = Self.pausing(at: .response)
            let loader = loader(handler)
            let task = loader.task(for: try Request("x:1"), delegate: delegate)
            released.set(task, loader, delegate)
            task.resume()
            try #require(handler.loads.first).respond()
            task.resume()
        }
        let load = try #require(handler.loads.first)
        #expect(released.task?.state == .running)
        load.finish()
        #expect(released.isFreed)
        #expect(load.calls == [.start, .resume])
    }

    /// A resume on another thread can come before the delegate has returned `.pause`. The load then continues.
    @Test func resumeBeforeThePauseReturnsKeepsTheTaskAlive() throws {
        let handler = ManualHandler()
        let released = Released()
        do {
            let delegate = RecordingDelegate { event, task in
                guard case .response = event else { return .keepGoing }
                task.resume()
                return .pause
            }
            let loader = loader(handler)
            let task = loader.task(for: try Request("x:1"), delegate: delegate)
            released.set(task, loader, delegate)
            task.resume()
            #expect(try #require(handler.loads.first).respond() == .keepGoing)
        }
        #expect(released.task?.state == .running)
        try #require(handler.loads.first).finish()
        #expect(released.isFreed)
    }

    /// A delegate that decides about a redirect later does not have to retain the task.
    @Test func taskLivesWhileItsRedirectIsUndecided() throws {
        let handler = ManualHandler()
        let released = Released()
        let decision = Mutex<(@Sendable (RedirectDecision) -> Void)?>(nil)
        do {
            let delegate = RecordingDelegate(onRedirect: { _, decide in decision.withLock { $0 = decide } })
            let loader = loader(handler)
            let task = loader.task(for: try Request("x:1"), delegate: delegate)
            released.set(task, loader, delegate)
            task.resume()
            #expect(try #require(handler.loads.first).redirect(to: URLRecord(parsing: "x:2")) == .pause)
        }
        #expect(released.task?.state == .running)
        let decide = try #require(decision.withLock { $0.take() })
        decide(.follow(try Request("x:2")))
        try #require(handler.loads.last).respond()
        try #require(handler.loads.last).finish()
        #expect(handler.loads.count == 2 && released.isFreed)
    }

    @Test func aRunningTaskLivesUntilItsEnd() throws {
        let handler = ManualHandler()
        let released = Released()
        do {
            let delegate = RecordingDelegate()
            let loader = loader(handler)
            let task = loader.task(for: try Request("x:1"), delegate: delegate)
            released.set(task, loader, delegate)
            task.resume()
            task.suspend()
            task.resume()
        }
        let load = try #require(handler.loads.first)
        #expect(released.task?.state == .running)
        load.respond()
        #expect(released.delegate?.events.count == 1)
        load.finish()
        #expect(released.isFreed)
    }

    @Test func pendingTimerDoesNotRetainTheTask() throws {
        let clock = ManualClock()
        let handler = ManualHandler()
        let released = Released()
        do {
            let delegate = RecordingDelegate()
            let loader = loader(handler) { $0.clock = clock }
            let task = loader.task(for: try Request("x:1"), delegate: delegate)
            released.set(task, loader, delegate)
            task.resume()
            task.suspend()
        }
        #expect(released.isFreed)
        #expect(clock.pendingTimerCount == 0)
    }

    /// A challenge that waits for its answer does not retain the task.
    @Test func suspendedTaskIsFreedDuringAChallenge() throws {
        let handler = ManualHandler()
        let released = Released()
        let receivedChallenge = Mutex<AuthenticationChallenge?>(nil)
        do {
            let delegate = RecordingDelegate(onChallenge: { challenge in receivedChallenge.withLock { $0 = challenge } })
            let loader = loader(handler)
            let task = loader.task(for: try Request("x:1"), delegate: delegate)
            released.set(task, loader, delegate)
            task.resume()
            let load = try #require(handler.loads.first)
            let space = ProtectionSpace(kind: .password(scheme: "basic"), protocolName: "x", host: "h")
            load.client.didReceive(AuthenticationChallenge(protectionSpace: space) { _ in })
            task.suspend()
        }
        let load = try #require(handler.loads.first)
        #expect(released.task == nil)
        #expect(released.loader == nil)
        #expect(load.calls == [.start, .stop])
        receivedChallenge.withLock { $0.take() }?.answer(.cancel)
        #expect(released.isFreed)
    }

    /// The task is suspended, and the nested load runs.
    @Test func suspendedTaskIsFreedWithItsNestedLoads() throws {
        let outer = ManualHandler(schemes: .only(["parent"]))
        let inner = ManualHandler(schemes: .only(["nested"]))
        let released = Released()
        let client = RecordingClient()
        do {
            let delegate = RecordingDelegate()
            let loader = loader(outer, inner)
            let task = loader.task(for: try Request("parent:1"), delegate: delegate)
            released.set(task, loader, delegate)
            task.resume()
            let load = try #require(outer.loads.first)
            load.client.makeNestedLoad(for: try Request("nested:1"), client: client).startLoading()
            load.client.makeLoadByNextHandler(for: try Request("nested:2"), client: client).startLoading()
            #expect(inner.loads.count == 2)
            task.suspend()
        }
        #expect(released.isFreed)
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
