// SPDX-License-Identifier: Apache-2.0

import CPortolan
import PortolanCore

/// A blocking load: one function on a thread of the pool. Its client calls wait.
final class BlockingCalls: LoadCalls {
    private struct State {
        var life = BlockingLoadState()
        /// Whether the consumer requested more. Set once for each pause, possibly before this load has paused.
        var isResumed = false
        /// Incremented when a value that the load waits for may be available.
        var signals = 0
    }

    private let monitor = ConditionLock(State())
    private let threads: LoadThreadPool

    init(threads: LoadThreadPool) {
        self.threads = threads
    }

    func start(_ load: HostedLoad) {
        guard monitor.withLock({ $0.life.start() }) else { return }
        do throws(LoadError) {
            try threads.run(isNested: load.isNested) { [self] in run(load) }
        } catch {
            load.cut(with: error)
        }
    }

    var stallReason: String? {
        guard monitor.withLock({ $0.life.phase == .queued }), threads.isExhausted else { return nil }
        return "all \(threads.limit) threads for blocking loads of its plugin are in use by loads that have not ended; end some of them"
    }

    private func run(_ load: HostedLoad) {
        guard monitor.withLock({ $0.life.enter() }) else { return }
        unsafe load.inCall { unsafe load.table.run?($0) }
        if monitor.withLock({ $0.life.leave() }) {
            load.cut(by: ContractViolation(.oneEnd, "`run` returned without did_finish or did_fail"))
        }
        monitor.wait { $0.life.destroy() ? () : nil }
        load.destroy()
    }

    func resume(_ load: HostedLoad) {
        monitor.withLockBroadcasting { $0.isResumed = true }
    }

    func stop(_ load: HostedLoad) {
        let onLoadThread = load.isInCall
        let action = monitor.withLockBroadcasting { $0.life.stop(onLoadThread: onLoadThread) }
        load.closeNested()
        switch action {
        case .nothing: break
        // The caller of `stop` waits neither for the plugin's `stop` nor until its threads have ended.
        case .callStop: load.plugin.helpers.run(isNested: load.isNested) { [self] in callStop(load) }
        case .destroy: load.plugin.helpers.run(isNested: load.isNested) { load.destroy() }
        }
    }

    private func callStop(_ load: HostedLoad) {
        unsafe load.call { unsafe load.table.stop?($0) }
        monitor.withLockBroadcasting { $0.life.stopReturned() }
    }

    func notify(_ load: HostedLoad) {
        monitor.withLockBroadcasting { $0.signals &+= 1 }
    }

    func answered(_ load: HostedLoad) {
        notify(load)
    }

    /// Does nothing: a blocking load cannot watch descriptors.
    func becameReady(_ load: HostedLoad) {}

    func noteEnd() {
        monitor.withLock { $0.life.noteEnd() }
    }

    func clientReturned(_ load: HostedLoad) {
        guard load.isOver, monitor.withLock({ $0.life.takeOwedStop() }) else { return }
        load.plugin.helpers.run(isNested: load.isNested) { [self] in callStop(load) }
    }

    func pause() -> portolan_flow {
        monitor.withLock { $0.life.beginWait() }
        return monitor.wait { state in
            guard state.life.isStopped || state.isResumed else { return nil }
            state.life.endWait()
            state.isResumed = false
            return state.life.isStopped ? PORTOLAN_STOPPED : PORTOLAN_CONTINUE
        }
    }

    /// Calls `poll` without a lock, because it may call other code. `signals` reveals events that arrive meanwhile.
    func wait<Value>(until poll: () -> Value?) -> Waited<Value> {
        monitor.withLock { $0.life.beginWait() }
        while true {
            let signals = monitor.withLock { $0.signals }
            let value = poll()
            let waited = monitor.wait { state -> Waited<Value>? in
                if state.life.isStopped { return .stopped }
                if let value { return .value(value) }
                return state.signals == signals ? nil : .later
            }
            if case .later = waited { continue }
            monitor.withLock { $0.life.endWait() }
            return waited
        }
    }
}
