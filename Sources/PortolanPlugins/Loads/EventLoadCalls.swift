// SPDX-License-Identifier: Apache-2.0

import CPortolan
import PortolanCore
import Synchronization

/// The calls into an event-driven load. They are serial.
final class EventLoadCalls: LoadCalls, @unchecked Sendable {  // … because `state` is used only in serial calls
    private let calls = SerialCalls()
    private var state = EventLoadState()
    private let waitsForThread = Atomic(false)
    private let helperThreads: HelperThreads

    init(helperThreads: HelperThreads) { self.helperThreads = helperThreads }

    func start(_ load: HostedLoad) { enqueue(.start, load) }
    func resume(_ load: HostedLoad) { enqueue(.resume, load) }
    func stop(_ load: HostedLoad) { enqueue(.stop, load) }
    func answerDidArrive(_ load: HostedLoad) { enqueue(.answered, load) }
    /// Several notifications can cause one call of `woken`. A notification during `woken` causes another call.
    func notify(_ load: HostedLoad) { enqueue(.woken, load) }

    func becameReady(_ load: HostedLoad) { enqueue(.ready, load) }

    /// Schedules a call. Never calls the plugin on this thread, because the plugin's function can take some time.
    private func enqueue(_ call: SerialCalls.Call, _ load: HostedLoad) {
        if calls.enqueue(call) { run(load) }
    }

    /// The number of calls after which a load yields its thread to waiting loads, even if it always wakes itself again.
    private static let callLimit = 32

    private func run(_ load: HostedLoad) {
        waitsForThread.store(true, ordering: .relaxed)
        helperThreads.run(isNested: load.isNested) { [self] in
            waitsForThread.store(false, ordering: .relaxed)
            if calls.run(atMost: Self.callLimit, { perform($0, load) }) { run(load) }
        }
    }

    var stallReason: String? {
        // While a new thread starts for the load, the load does not wait for other loads.
        guard waitsForThread.load(ordering: .relaxed), helperThreads.isExhausted else { return nil }
        return "all \(HelperThreads.limit) threads for calls into its plugin are in calls that have not returned"
    }

    private func perform(_ call: SerialCalls.Call, _ load: HostedLoad) {
        switch state.begin(call) {
        case .start: unsafe load.inCall { unsafe load.table.start?($0) }
        case .resume:
            unsafe load.inCall { unsafe load.table.resume?($0) }
            // `woken` reports descriptors and timers that became ready during the pause, unless `resume` has read them.
            if state.phase == .started { callIfReady(load) }
        case .woken:
            // `woken` also handles descriptors and timers that are ready.
            _ = load.watches?.takeNewEvents(isPaused: state.isPaused)
            unsafe load.inCall { unsafe load.table.woken?($0) }
        case .ready: callIfReady(load)
        case .answered: unsafe load.deliverAnswer { unsafe load.table.answered?($0, $1) }
        case .stop: stopLoad(load)
        case .destroy: load.destroy()
        case nil: break
        }
        if state.mustDestroy { _ = calls.enqueue(.destroy) }  // `calls.run` makes this call
    }

    private func callIfReady(_ load: HostedLoad) {
        guard load.watches?.takeNewEvents(isPaused: state.isPaused) == true else { return }
        unsafe load.inCall { unsafe load.table.woken?($0) }
    }

    private func stopLoad(_ load: HostedLoad) {
        load.stopNestedLoads()
        load.watches?.giveUp()
        load.stage.store(.stopping, ordering: .releasing)
        unsafe load.call { unsafe load.table.stop?($0) }
    }

    func recordEnd() { state.recordEnd() }
    func clientCallDidReturn(_ load: HostedLoad) {}
    func pause() -> portolan_flow {
        state.recordPause()
        return PORTOLAN_PAUSE
    }
    func wait<Value>(until poll: () -> Value?) -> WaitResult<Value> { poll().map { .value($0) } ?? .later }
}
