// SPDX-License-Identifier: Apache-2.0

import CPortolan
import PortolanCore

/// The calls into a blocking load. `run` is called on a thread of the pool, and client calls wait.
final class BlockingCalls: LoadCalls {
    private struct State {
        var load = BlockingLoadState()
        /// Whether the reader is ready again. Set once for each pause, possibly before the load has paused.
        var isResumed = false
        /// How often the load was notified that a value for which it waits can be available.
        var signalCount = 0
    }

    private let stateLock = ConditionLock(State())
    private let threads: LoadThreadPool

    init(threads: LoadThreadPool) {
        self.threads = threads
    }

    func start(_ load: HostedLoad) {
        guard stateLock.withLock({ $0.load.start() }) else { return }
        do throws(LoadError) {
            try threads.run(isNested: load.isNested) { [self] in run(load) }
        } catch {
            load.fail(with: error)
        }
    }

    var stallReason: String? {
        guard stateLock.withLock({ $0.load.phase == .queued }), threads.isExhausted else { return nil }
        return "all \(threads.limit) threads that this plugin may use for blocking loads are busy; end some of these loads"
    }

    private func run(_ load: HostedLoad) {
        guard stateLock.withLock({ $0.load.beginRunning() }) else { return }
        unsafe load.inCall { unsafe load.table.run?($0) }
        if stateLock.withLock({ $0.load.runDidReturn() }) {
            load.fail(with: ContractViolation(.oneEnd, "`run` returned without did_finish or did_fail"))
        }
        stateLock.wait { $0.load.destroy() ? () : nil }
        load.destroy()
    }

    func resume(_ load: HostedLoad) {
        stateLock.withLockBroadcasting { $0.isResumed = true }
    }

    func stop(_ load: HostedLoad) {
        let isOnLoadThread = load.isInCall
        let action = stateLock.withLockBroadcasting { $0.load.stop(onLoadThread: isOnLoadThread) }
        load.stopNestedLoads()
        switch action {
        case .nothing: break
        // The calls run on another thread, so that the caller does not wait for the plugin.
        case .callStop: load.plugin.helperThreads.run(isNested: load.isNested) { [self] in callStop(load) }
        case .destroy: load.plugin.helperThreads.run(isNested: load.isNested) { load.destroy() }
        }
    }

    private func callStop(_ load: HostedLoad) {
        unsafe load.call { unsafe load.table.stop?($0) }
        stateLock.withLockBroadcasting { $0.load.stopDidReturn() }
    }

    func notify(_ load: HostedLoad) {
        stateLock.withLockBroadcasting { $0.signalCount &+= 1 }
    }

    func answerDidArrive(_ load: HostedLoad) {
        notify(load)
    }

    /// Does nothing: a blocking load cannot watch descriptors.
    func becameReady(_ load: HostedLoad) {}

    func recordEnd() {
        stateLock.withLock { $0.load.recordEnd() }
    }

    func clientCallDidReturn(_ load: HostedLoad) {
        guard load.isOver, stateLock.withLock({ $0.load.beginPendingStop() }) else { return }
        load.plugin.helperThreads.run(isNested: load.isNested) { [self] in callStop(load) }
    }

    func pause() -> portolan_flow {
        stateLock.withLock { $0.load.beginWait() }
        return stateLock.wait { state in
            guard state.load.isStopped || state.isResumed else { return nil }
            state.load.endWait()
            state.isResumed = false
            return state.load.isStopped ? PORTOLAN_STOPPED : PORTOLAN_CONTINUE
        }
    }

    /// Calls `poll` without the lock, because `poll` calls other code. The signal count shows whether to poll again.
    func wait<Value>(until poll: () -> Value?) -> WaitResult<Value> {
        stateLock.withLock { $0.load.beginWait() }
        while true {
            let oldSignalCount = stateLock.withLock { $0.signalCount }
            let value = poll()
            let result = stateLock.wait { state -> WaitResult<Value>? in
                if state.load.isStopped { return .stopped }
                if let value { return .value(value) }
                return state.signalCount == oldSignalCount ? nil : .later
            }
            if case .later = result { continue }
            stateLock.withLock { $0.load.endWait() }
            return result
        }
    }
}
