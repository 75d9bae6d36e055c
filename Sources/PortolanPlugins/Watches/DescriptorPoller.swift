// SPDX-License-Identifier: Apache-2.0

import CPortolanLinux
import PortolanCore
import Synchronization

#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#endif

/// The readiness of a descriptor: the contract's `portolan_readiness`.
package struct Readiness: OptionSet, Hashable, Sendable {
    package let rawValue: Int32

    package init(rawValue: Int32) { self.rawValue = rawValue }

    static let readable = Self(rawValue: 1)
    static let writable = Self(rawValue: 2)
    static let hungUp = Self(rawValue: 4)
    package static let all: Self = [.readable, .writable, .hungUp]
}

/// Receives the readiness of descriptors.
package protocol ReadinessListener: AnyObject, Sendable {
    /// The descriptor is ready, and no longer watched. Called on the poller's thread, which waits until this returns.
    ///
    /// - Parameter arming: the arming that became ready; a newer one may exist.
    func becameReady(_ descriptor: CInt, _ arming: UInt64, for readiness: Readiness)
    /// The descriptor was closed while it was watched; another watch uses its number now. Any thread.
    func wasClosed(_ descriptor: CInt, _ arming: UInt64)
}

/// One thread that waits for the descriptors of all plugins' loads (`epoll(7)`, one event for each arming).
///
/// The system forgets a closed descriptor, and may reuse its number. Each watch therefore has its own mark, and events
/// with another mark are ignored.
package final class DescriptorPoller: Sendable {
    package static let shared = DescriptorPoller()

    private struct Watch {
        let listener: any ReadinessListener
        let arming: UInt64
        let wanted: Readiness
        let mark: UInt32
        var isArmed = true
    }

    private struct State {
        var watches: [CInt: Watch] = [:]
        var lastMark: UInt32 = 0
        /// The epoll(7) instance; `nil` until something is watched.
        var queue: CInt?
    }

    private let state = Mutex(State())

    /// Arms a watch. `listener` is notified once.
    ///
    /// - Parameter arming: identifies this arming to the listener.
    /// - Returns: 0, or an error number of `errno(3)`.
    func arm(_ descriptor: CInt, for wanted: Readiness, _ listener: any ReadinessListener, _ arming: UInt64) -> CInt {
        var displaced: Watch?
        let number = state.withLock { state -> CInt in
            let queue: CInt
            switch Self.queue(of: &state, servedBy: self) {
            case .success(let open): queue = open
            case .failure(let error): return error.number
            }
            state.lastMark &+= 1
            let watch = Watch(listener: listener, arming: arming, wanted: wanted, mark: state.lastMark)
            let old = state.watches[descriptor]
            let isOwn = old.map { $0.listener === listener } ?? false
            var number = Self.change(queue, isOwn ? EPOLL_CTL_MOD : EPOLL_CTL_ADD, descriptor, watch)
            // The listener's own descriptor may have been closed and opened again. A registration without a watch may
            // remain from a copy by dup(2).
            if isOwn, number == ENOENT { number = Self.change(queue, EPOLL_CTL_ADD, descriptor, watch) }
            if old == nil, number == EEXIST { number = Self.change(queue, EPOLL_CTL_MOD, descriptor, watch) }
            if number == EEXIST { return EBUSY }
            // If the other listener's descriptor were still open, epoll_ctl(2) would have returned EEXIST.
            if !isOwn { displaced = old }
            state.watches[descriptor] = number == 0 ? watch : nil
            return number
        }
        if let displaced { displaced.listener.wasClosed(descriptor, displaced.arming) }
        return number
    }

    /// Disarms a watch, unless another listener watches the descriptor now.
    ///
    /// - Returns: whether it was still the armed descriptor.
    func disarm(_ descriptor: CInt, _ listener: any ReadinessListener) -> Bool {
        state.withLock { state in
            guard let queue = state.queue, let watch = state.watches[descriptor], watch.listener === listener else { return false }
            state.watches[descriptor] = nil
            return Self.change(queue, EPOLL_CTL_DEL, descriptor, watch) == 0
        }
    }

    /// Starts the thread if it is not running.
    func prepare() {
        state.withLock { state in _ = Self.queue(of: &state, servedBy: self) }
    }

    private static func change(_ queue: CInt, _ operation: CInt, _ descriptor: CInt, _ watch: Watch) -> CInt {
        let mark = UInt64(watch.mark) << 32 | UInt64(UInt32(bitPattern: descriptor))
        var event = unsafe epoll_event(events: watch.wanted.events, data: epoll_data_t(u64: mark))
        return unsafe epoll_ctl(queue, operation, descriptor, &event) == 0 ? 0 : errno
    }

    // MARK: The thread

    private static func queue(of state: inout State, servedBy poller: DescriptorPoller) -> Result<CInt, SystemCallError> {
        if let queue = state.queue { return .success(queue) }
        let queue = epoll_create1(CInt(EPOLL_CLOEXEC))
        guard queue >= 0 else { return .failure(.last) }
        do throws(LoadError) {
            try PlatformThread.start { poller.run(queue) }
        } catch {
            close(queue)
            return .failure(SystemCallError(number: EAGAIN))
        }
        state.queue = queue
        return .success(queue)
    }

    private func run(_ queue: CInt) {
        var events = unsafe [epoll_event](repeating: epoll_event(), count: 64)
        while true {
            let count = unsafe epoll_wait(queue, &events, CInt(events.count), -1)
            // The only possible error is EINTR, because the queue is never closed.
            guard count > 0 else { continue }
            for index in 0..<Int(count) {
                let (mark, happened) = unsafe (events[index].data.u64, events[index].events)
                tell(CInt(truncatingIfNeeded: mark), UInt32(mark >> 32), happened)
            }
        }
    }

    private func tell(_ descriptor: CInt, _ mark: UInt32, _ happened: UInt32) {
        let watch = state.withLock { state -> Watch? in
            guard let watch = state.watches[descriptor], watch.mark == mark, watch.isArmed else { return nil }
            state.watches[descriptor]?.isArmed = false
            return watch
        }
        if let watch { watch.listener.becameReady(descriptor, watch.arming, for: Readiness(happened, wanted: watch.wanted)) }
    }
}

extension Readiness {
    /// The events for epoll_ctl(2), with EPOLLONESHOT.
    fileprivate var events: UInt32 {
        var events = EPOLLONESHOT.rawValue
        if contains(.readable) { events |= EPOLLIN.rawValue }
        if contains(.writable) { events |= EPOLLOUT.rawValue }
        if contains(.hungUp) { events |= EPOLLRDHUP.rawValue }
        return events
    }

    /// After an error, or a hang-up on both sides, neither reads nor writes block. The wanted events are therefore
    /// reported, and the next read or write returns the error.
    fileprivate init(_ events: UInt32, wanted: Readiness) {
        self = []
        let isBroken = events & (EPOLLERR.rawValue | EPOLLHUP.rawValue) != 0
        if events & EPOLLIN.rawValue != 0 || isBroken { formUnion(wanted.intersection(.readable)) }
        if events & EPOLLOUT.rawValue != 0 || isBroken { formUnion(wanted.intersection(.writable)) }
        if events & EPOLLRDHUP.rawValue != 0 || isBroken { insert(.hungUp) }
    }
}
