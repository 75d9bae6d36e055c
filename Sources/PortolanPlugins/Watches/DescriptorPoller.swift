// SPDX-License-Identifier: Apache-2.0

import CPortolanLinux
import PortolanCore
import Synchronization

#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#endif

/// The readiness of a descriptor (`portolan_readiness` of the contract).
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
    /// The descriptor is ready, and is not watched any more. Called on the poller's thread.
    ///
    /// - Parameter watchNumber: the number that was passed to `arm`. `arm` can have been called again since, with
    ///   another number.
    func becameReady(_ descriptor: CInt, _ watchNumber: UInt64, for readiness: Readiness)
    /// The descriptor was closed while it was watched, and another watch uses its number now. Called on any thread.
    func wasClosed(_ descriptor: CInt, _ watchNumber: UInt64)
}

/// One thread that waits for the descriptors of all plugins' loads (`epoll(7)`, EPOLLONESHOT).
///
/// The system can reuse the number of a closed descriptor. Each watch therefore has an identifier, and events with
/// another identifier are ignored.
package final class DescriptorPoller: Sendable {
    package static let shared = DescriptorPoller()

    private struct Watch {
        let listener: any ReadinessListener
        let watchNumber: UInt64
        let requested: Readiness
        let identifier: UInt32
        var isArmed = true
    }

    private struct State {
        var watches: [CInt: Watch] = [:]
        var lastIdentifier: UInt32 = 0
        /// The epoll(7) instance; `nil` until something is watched.
        var queue: CInt?
    }

    private let state = Mutex(State())

    /// Starts a watch. `listener` is notified once.
    ///
    /// - Parameter watchNumber: a number that is passed to the listener.
    /// - Returns: 0, or an error number of `errno(3)`.
    func arm(_ descriptor: CInt, for requested: Readiness, _ listener: any ReadinessListener, _ watchNumber: UInt64) -> CInt {
        var displacedWatch: Watch?
        let number = state.withLock { state -> CInt in
            let queue: CInt
            switch Self.queue(of: &state, servedBy: self) {
            case .success(let open): queue = open
            case .failure(let error): return error.number
            }
            state.lastIdentifier &+= 1
            let watch = Watch(listener: listener, watchNumber: watchNumber, requested: requested, identifier: state.lastIdentifier)
            let oldWatch = state.watches[descriptor]
            let isSameListener = oldWatch.map { $0.listener === listener } ?? false
            var number = Self.change(queue, isSameListener ? EPOLL_CTL_MOD : EPOLL_CTL_ADD, descriptor, watch)
            // The listener can have closed the descriptor and opened it again. A registration without a watch can
            // remain if the descriptor was copied by dup(2).
            if isSameListener, number == ENOENT { number = Self.change(queue, EPOLL_CTL_ADD, descriptor, watch) }
            if oldWatch == nil, number == EEXIST { number = Self.change(queue, EPOLL_CTL_MOD, descriptor, watch) }
            if number == EEXIST { return EBUSY }
            // The other listener's descriptor is closed, because otherwise epoll_ctl(2) would have returned EEXIST.
            if !isSameListener { displacedWatch = oldWatch }
            state.watches[descriptor] = number == 0 ? watch : nil
            return number
        }
        if let displacedWatch { displacedWatch.listener.wasClosed(descriptor, displacedWatch.watchNumber) }
        return number
    }

    /// Ends a watch, unless another listener watches the descriptor now.
    ///
    /// - Returns: whether the descriptor is still open.
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
        let data = UInt64(watch.identifier) << 32 | UInt64(UInt32(bitPattern: descriptor))
        var event = unsafe epoll_event(events: watch.requested.events, data: epoll_data_t(u64: data))
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
                let (data, eventBits) = unsafe (events[index].data.u64, events[index].events)
                dispatch(eventBits, to: CInt(truncatingIfNeeded: data), identifier: UInt32(data >> 32))
            }
        }
    }

    private func dispatch(_ eventBits: UInt32, to descriptor: CInt, identifier: UInt32) {
        let watch = state.withLock { state -> Watch? in
            guard let watch = state.watches[descriptor], watch.identifier == identifier, watch.isArmed else { return nil }
            state.watches[descriptor]?.isArmed = false
            return watch
        }
        if let watch { watch.listener.becameReady(descriptor, watch.watchNumber, for: Readiness(eventBits, requested: watch.requested)) }
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

    /// Converts events of epoll_wait(2). After an error or a hang-up, reads and writes do not block. Then all requested
    /// events are reported, and the next read or write returns the error.
    fileprivate init(_ events: UInt32, requested: Readiness) {
        self = []
        let isBroken = events & (EPOLLERR.rawValue | EPOLLHUP.rawValue) != 0
        if events & EPOLLIN.rawValue != 0 || isBroken { formUnion(requested.intersection(.readable)) }
        if events & EPOLLOUT.rawValue != 0 || isBroken { formUnion(requested.intersection(.writable)) }
        if events & EPOLLRDHUP.rawValue != 0 || isBroken { insert(.hungUp) }
    }
}
