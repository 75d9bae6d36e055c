// SPDX-License-Identifier: Apache-2.0

import CPortolan
import PortolanCore
import Synchronization

/// An event-driven load: every call into it is a turn, and no two turns run at the same time.
final class TurnCalls: LoadCalls, @unchecked Sendable {  // … because `life` is touched only in a turn
    private let turns = LoadTurns()
    private var life = TurnLife()
    /// A turn for `woken` is on its way to a helper thread.
    private let isWaking = Atomic(false)

    func start(_ load: HostedLoad) { hand(over: .start, load) }
    func resume(_ load: HostedLoad) { hand(over: .resume, load) }
    func stop(_ load: HostedLoad) { hand(over: .stop, load) }
    func answered(_ load: HostedLoad) { hand(over: .answered, load) }

    /// Several of these may bring one call; the flag is let down before the turn begins, so that none that comes later is lost.
    func notify(_ load: HostedLoad) {
        guard !isWaking.exchange(true, ordering: .acquiringAndReleasing) else { return }
        load.plugin.helpers.run(isNested: load.isNested) { [self] in
            isWaking.store(false, ordering: .sequentiallyConsistent)
            take(.woken, load)
        }
    }

    /// A plugin's function may take its time, which is not to be the caller's.
    private func hand(over turn: LoadTurns.Turn, _ load: HostedLoad) {
        load.plugin.helpers.run(isNested: load.isNested) { [self] in take(turn, load) }
    }

    private func take(_ turn: LoadTurns.Turn, _ load: HostedLoad) {
        turns.take(turn) { perform($0, load) }
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
        if life.owesDestroy { take(.destroy, load) }
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
