// SPDX-License-Identifier: Apache-2.0

import CPortolan
import PortolanCore
import PortolanPlugins

#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#endif

/// The descriptors and timers that one load watches through `portolan.watch/1`. Uses the loader's own watches, and
/// records errors of the plugin.
final class ProbedWatches: Sendable {
    /// An error in the use of the extension.
    enum Flaw: Hashable, Sendable {
        /// The load blocks, and so has a thread that can wait. WATCH-01
        case isOfBlockingLoad
        /// Readiness bits that the contract does not define. WATCH-02
        case bits(Int32)
        /// A timer number that the contract does not define. WATCH-02
        case timer(Int32)
        /// A descriptor was closed while it was watched. WATCH-03
        case isClosed(CInt)
    }

    private let state = ConditionLock(State())
    private let isBlocking: Bool
    /// Whether each request to watch a descriptor fails, as if the system had no more watches.
    private let refusesAll: Bool
    /// Called when a descriptor or timer is ready, so that the runner calls `woken` of the load.
    private let whenReady: @Sendable () -> Void

    private struct State {
        var watches: DescriptorWatches?
        var flaws: [Flaw] = []
        var isUsed = false
        var hasEnded = false
    }

    init(isBlocking: Bool, refusesAll: Bool, whenReady: @escaping @Sendable () -> Void) {
        (self.isBlocking, self.refusesAll, self.whenReady) = (isBlocking, refusesAll, whenReady)
    }

    var flaws: [Flaw] { state.withLock(\.flaws) }
    var isUsed: Bool { state.withLock(\.isUsed) }

    /// Whether the runner should call `woken`, because a descriptor or timer became ready. Each event counts once.
    func takeNewEvents(isPaused: Bool) -> Bool { state.withLock(\.watches)?.takeNewEvents(isPaused: isPaused) ?? false }

    /// Ends all watches, and allows no new ones.
    func endAll() {
        let watches = state.withLock { state in
            state.hasEnded = true
            return state.watches
        }
        watches?.giveUp()
    }

    // MARK: Calls by the plugin

    func watch(_ descriptor: Int32, _ readiness: Int32) -> Int32 {
        guard let watches = activeWatches() else { return isBlocking ? EPERM : PORTOLAN_STOPPED.rawValue }
        if refusesAll { return ENOSPC }
        let requestedReadiness = Readiness(rawValue: readiness)
        guard !requestedReadiness.isEmpty, Readiness.all.isSuperset(of: requestedReadiness) else {
            add(.bits(readiness))
            return EINVAL
        }
        return watches.watch(descriptor, for: requestedReadiness)
    }

    func ready(_ descriptor: Int32) -> Int32 { activeWatches()?.takeReady(descriptor).rawValue ?? 0 }
    func unwatch(_ descriptor: Int32) { activeWatches()?.unwatch(descriptor) }

    func setTimer(_ timer: Int32, _ delay: Int64) -> Int32 {
        guard let watches = activeWatches() else { return PORTOLAN_STOPPED.rawValue }
        guard (0..<Int32(DescriptorWatches.timerLimit)).contains(timer) else {
            add(.timer(timer))
            return PORTOLAN_STOPPED.rawValue
        }
        watches.setTimer(timer, delay)
        return 0
    }

    func fired(_ timer: Int32) -> Int32 { activeWatches()?.takeFired(timer) == true ? 1 : 0 }

    private func add(_ flaw: Flaw) { state.withLock { if !$0.flaws.contains(flaw) { $0.flaws.append(flaw) } } }

    /// Returns the watches, and makes them on first use; `nil` if the load blocks, or has ended.
    private func activeWatches() -> DescriptorWatches? {
        if isBlocking { add(.isOfBlockingLoad) }
        return state.withLock { state in
            state.isUsed = true
            guard !isBlocking, !state.hasEnded else { return nil }
            let watches =
                state.watches
                ?? DescriptorWatches(whenReady: whenReady) { [weak self] descriptor in self?.add(.isClosed(descriptor)) }
            state.watches = watches
            return watches
        }
    }
}
