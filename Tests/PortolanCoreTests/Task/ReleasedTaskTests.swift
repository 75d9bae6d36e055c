// SPDX-License-Identifier: Apache-2.0

import PortolanTestSupport
import Synchronization
import Testing

@testable import PortolanCore

/// Tasks whose last reference is released while they are suspended.
@Suite("Released tasks", .timeLimit(.minutes(2))) struct ReleasedTaskTests {
    /// Something that can be let go of, and what must be freed then.
    private final class Released {
        weak var task: LoadTask?
        weak var loader: Loader?
        weak var delegate: RecordingDelegate?

        func keep(_ task: LoadTask, _ loader: Loader, _ delegate: RecordingDelegate) {
            (self.task, self.loader, self.delegate) = (task, loader, delegate)
        }

        var isFreed: Bool { task == nil && loader == nil && delegate == nil }
    }

    /// How far a load has come when its task is suspended and released.
    enum Place: CaseIterable, Sendable {
        case start, response, data

        func reach(_ load: ManualLoad) {
            guard self != .start else { return }
            load.respond()
            if self == .data { load.deliver("data") }
        }
    }

    @Test(arguments: Place.allCases)
    func aSuspendedTaskIsFreedAndItsLoadStopped(at place: Place) throws {
        let handler = ManualHandler()
        let released = Released()
        do {
            let delegate = RecordingDelegate()
            let loader = loader(handler)
            let task = loader.task(for: try Request("x:1"), delegate: delegate)
            released.keep(task, loader, delegate)
            task.resume()
            place.reach(try #require(handler.loads.first))
            task.suspend()
        }
        let load = try #require(handler.loads.first)
        #expect(released.isFreed)
        #expect(load.calls == [.start, .stop])
        #expect(load.respond() == .stopped)
    }

    @Test func aRunningTaskLivesUntilItsEnd() throws {
        let handler = ManualHandler()
        let released = Released()
        do {
            let delegate = RecordingDelegate()
            let loader = loader(handler)
            let task = loader.task(for: try Request("x:1"), delegate: delegate)
            released.keep(task, loader, delegate)
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

    @Test func anAlarmThatIsSetKeepsNoTask() throws {
        let clock = ManualClock()
        let handler = ManualHandler()
        let released = Released()
        do {
            let delegate = RecordingDelegate()
            let loader = loader(handler) { $0.clock = clock }
            let task = loader.task(for: try Request("x:1"), delegate: delegate)
            released.keep(task, loader, delegate)
            task.resume()
            task.suspend()
        }
        #expect(released.isFreed)
        #expect(clock.pendingAlarmCount == 0)
    }

    /// A question that waits for its answer keeps the task no more than an event does.
    @Test func aSuspendedTaskIsFreedWhileItsDelegateIsAsked() throws {
        let handler = ManualHandler()
        let released = Released()
        let asked = Mutex<AuthenticationChallenge?>(nil)
        do {
            let delegate = RecordingDelegate(onChallenge: { challenge in asked.withLock { $0 = challenge } })
            let loader = loader(handler)
            let task = loader.task(for: try Request("x:1"), delegate: delegate)
            released.keep(task, loader, delegate)
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
        asked.withLock { $0.take() }?.answer(.cancel)
        #expect(released.isFreed)
    }

    /// The load around is suspended, and the one inside runs.
    @Test func aSuspendedTaskIsFreedWithTheLoadsInside() throws {
        let outer = ManualHandler(schemes: .only(["outer"]))
        let inner = ManualHandler(schemes: .only(["inner"]))
        let released = Released()
        let client = RecordingClient()
        do {
            let delegate = RecordingDelegate()
            let loader = loader(outer, inner)
            let task = loader.task(for: try Request("outer:1"), delegate: delegate)
            released.keep(task, loader, delegate)
            task.resume()
            let load = try #require(outer.loads.first)
            load.client.makeNestedLoad(for: try Request("inner:1"), client: client).startLoading()
            load.client.makeNextLoad(for: try Request("inner:2"), client: client).startLoading()
            #expect(inner.loads.count == 2)
            task.suspend()
        }
        #expect(released.isFreed)
        #expect(outer.loads.first?.calls == [.start, .stop])
        #expect(inner.loads.first?.calls == [.start, .stop])
    }

    @Test(arguments: [false, true])
    func aCompletionHandlerIsCalledAllTheSame(withDelegate: Bool) async throws {
        let handler = ManualHandler()
        let request = try Request("x:1")
        let outcome = await withCheckedContinuation { continuation in
            let delegate = withDelegate ? RecordingDelegate() : nil
            loader(handler).load(request, delegate: delegate) { continuation.resume(returning: $0) }.suspend()
        }
        #expect(throws: LoadError.self) { try outcome.get() }
        guard case .failure(let error) = outcome else { return }
        #expect(error.code == .cancelled)
        #expect(handler.loads.first?.calls == [.start, .stop])
    }
}
