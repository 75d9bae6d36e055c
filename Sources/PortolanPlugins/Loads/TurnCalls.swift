// SPDX-License-Identifier: Apache-2.0

import CPortolan
import PortolanCore
import Synchronization

/// An event-driven load: every call into it is a turn, and no two turns run at the same time.
final class TurnCalls: LoadCalls, @unchecked Sendable {  // … because `life` is touched only in a turn
    private let turns = LoadTurns()
    private var life = TurnLife()
    private let waitsForThread = Atomic(false)

    func start(_ load: HostedLoad) { leave(.start, load) }
    func resume(_ load: HostedLoad) { leave(.resume, load) }
    func stop(_ load: HostedLoad) { leave(.stop, load) }
    func answered(_ load: HostedLoad) { leave(.answered, load) }
    /// Several of these may bring one call: one that comes when it has begun brings another.
    func notify(_ load: HostedLoad) { leave(.woken, load) }

    /// A plugin's function may take its time, which is not to be the caller's.
    private func leave(_ turn: LoadTurns.Turn, _ load: HostedLoad) {
        guard turns.leave(turn) else { return }
        waitsForThread.store(true, ordering: .relaxed)
        load.plugin.helpers.run(isNested: load.isNested) { [self] in
            waitsForThread.store(false, ordering: .relaxed)
            turns.run { perform($0, load) }
        }
    }

    var stallReason: String? {
        guard waitsForThread.load(ordering: .relaxed) else { return nil }
        return "all \(HelperThreads.limit) threads for calls into its plugin are in calls that have not returned"
    }

    private func perform(_ turn: LoadTurns.Turn, _ load: HostedLoad) {
        switch life.begin(turn) {
        case .start: unsafe load.inCall { unsafe load.table.start?($0) }
        case .resume: unsafe load.inCall { unsafe load.table.resume?($0) }
        case .woken: unsafe load.inCall { unsafe load.table.woken?($0) }
        case .answered: unsafe load.giveAnswer { unsafe load.table.answered?($0, $1) }
        case .stop: stopLoad(load)
        case .destroy: load.destroy()
        case nil: break
        }
        if life.owesDestroy { _ = turns.leave(.destroy) }  // this thread runs, and comes to it
    }

    private func stopLoad(_ load: HostedLoad) {
        load.closeNested()
        load.stage.store(.stopping, ordering: .releasing)
        unsafe load.call { unsafe load.table.stop?($0) }
    }

    func noteEnd() { life.noteEnd() }
    func clientReturned(_ load: HostedLoad) {}
    func pause() -> portolan_flow { PORTOLAN_PAUSE }
    func wait<Value>(until poll: () -> Value?) -> Waited<Value> { poll().map { .value($0) } ?? .later }
}
