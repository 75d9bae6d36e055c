// SPDX-License-Identifier: Apache-2.0

import CPortolan
import PortolanCore
import Synchronization

/// An event-driven load. All calls into it are serial.
final class EventLoadCalls: LoadCalls, @unchecked Sendable {  // … because `life` is touched only in a serial call
    private let calls = SerialCalls()
    private var life = EventLoadState()
    private let waitsForThread = Atomic(false)
    /// The threads that this load waits for.
    private let helpers: HelperThreads

    init(helpers: HelperThreads) { self.helpers = helpers }

    func start(_ load: HostedLoad) { leave(.start, load) }
    func resume(_ load: HostedLoad) { leave(.resume, load) }
    func stop(_ load: HostedLoad) { leave(.stop, load) }
    func answered(_ load: HostedLoad) { leave(.answered, load) }
    /// Several of these calls may become one `woken`. A call that arrives after `woken` has begun causes another one.
    func notify(_ load: HostedLoad) { leave(.woken, load) }

    func becameReady(_ load: HostedLoad) { leave(.ready, load) }

    /// Never calls the plugin on the caller's thread, because the plugin's function may take some time.
    private func leave(_ call: SerialCalls.Call, _ load: HostedLoad) {
        if calls.enqueue(call) { run(load) }
    }

    /// The number of calls after which a load that always wakes itself yields its thread to waiting loads.
    private static let turnsInARow = 32

    private func run(_ load: HostedLoad) {
        waitsForThread.store(true, ordering: .relaxed)
        helpers.run(isNested: load.isNested) { [self] in
            waitsForThread.store(false, ordering: .relaxed)
            if calls.run(atMost: Self.turnsInARow, { perform($0, load) }) { run(load) }
        }
    }

    var stallReason: String? {
        // A call that is being handed to a thread does not wait for one.
        guard waitsForThread.load(ordering: .relaxed), helpers.isExhausted else { return nil }
        return "all \(HelperThreads.limit) threads for calls into its plugin are in calls that have not returned"
    }

    private func perform(_ call: SerialCalls.Call, _ load: HostedLoad) {
        switch life.begin(call) {
        case .start: unsafe load.inCall { unsafe load.table.start?($0) }
        case .resume:
            unsafe load.inCall { unsafe load.table.resume?($0) }
            // Reports what became ready during the pause, unless `resume` has handled it.
            if life.phase == .started { tellReady(load) }
        case .woken:
            // `woken` handles everything that may be ready.
            _ = load.watches?.takeNews(isPaused: life.isPaused)
            unsafe load.inCall { unsafe load.table.woken?($0) }
        case .ready: tellReady(load)
        case .answered: unsafe load.giveAnswer { unsafe load.table.answered?($0, $1) }
        case .stop: stopLoad(load)
        case .destroy: load.destroy()
        case nil: break
        }
        if life.owesDestroy { _ = calls.enqueue(.destroy) }  // this thread will make the call
    }

    private func tellReady(_ load: HostedLoad) {
        guard load.watches?.takeNews(isPaused: life.isPaused) == true else { return }
        unsafe load.inCall { unsafe load.table.woken?($0) }
    }

    private func stopLoad(_ load: HostedLoad) {
        load.closeNested()
        load.watches?.giveUp()
        load.stage.store(.stopping, ordering: .releasing)
        unsafe load.call { unsafe load.table.stop?($0) }
    }

    func noteEnd() { life.noteEnd() }
    func clientReturned(_ load: HostedLoad) {}
    func pause() -> portolan_flow {
        life.notePause()
        return PORTOLAN_PAUSE
    }
    func wait<Value>(until poll: () -> Value?) -> Waited<Value> { poll().map { .value($0) } ?? .later }
}
