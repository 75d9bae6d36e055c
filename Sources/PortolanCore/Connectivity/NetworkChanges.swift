// SPDX-License-Identifier: Apache-2.0

import Synchronization

#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#endif

/// Notifies observers when the system's links, addresses or routes change, through rtnetlink(7).
///
/// The first observer starts a thread, which lives as long as the process.
package final class NetworkChanges: Sendable {
    package static let shared = NetworkChanges(readsSystem: true)

    /// An observer is called at most once, on any thread, and never after its release.
    package final class Observer: Sendable {
        private let action: Mutex<(@Sendable () -> Void)?>

        fileprivate init(_ action: @escaping @Sendable () -> Void) { self.action = Mutex(action) }

        fileprivate func call() { action.withLock { $0.take() }?() }
    }

    private struct WeakObserver {
        weak var observer: Observer?
    }

    private struct State {
        var isReading: Bool
        var observers: [WeakObserver] = []
        /// The count at which released observers are removed.
        var nextCleanUp = 16
    }

    private let state: Mutex<State>

    /// - Parameter readsSystem: `false` for tests, which call ``report()``.
    package init(readsSystem: Bool = false) { state = Mutex(State(isReading: !readsSystem)) }

    /// Calls `action` at the next change.
    ///
    /// If the system does not report changes, `action` is never called. So a caller also needs a timer.
    ///
    /// - Returns: the observer. Keep it as long as the call is wanted.
    package func observeNext(_ action: @escaping @Sendable () -> Void) -> Observer {
        let observer = Observer(action)
        let mustStart = state.withLock { state in
            if state.observers.count >= state.nextCleanUp {
                state.observers.removeAll { $0.observer == nil }
                state.nextCleanUp = max(16, 2 * state.observers.count)
            }
            state.observers.append(WeakObserver(observer: observer))
            defer { state.isReading = true }
            return !state.isReading
        }
        if mustStart { start() }
        return observer
    }

    /// Calls all observers.
    package func report() {
        let observers = state.withLock { state in
            defer { state.observers = [] }
            return state.observers
        }
        for weakObserver in observers { weakObserver.observer?.call() }
    }

    private func start() {
        guard let socket = Self.openSocket() else { return state.withLock { $0.isReading = false } }
        do throws(LoadError) {
            try PlatformThread.start { [self] in
                // A read fails with ENOBUFS if messages were lost. That is a change, too.
                while Self.readMessages(from: socket) || errno == ENOBUFS || errno == EINTR { report() }
                close(socket)
                state.withLock { $0.isReading = false }
            }
        } catch {
            close(socket)
            state.withLock { $0.isReading = false }
        }
    }

    /// The groups of rtnetlink(7) for links, and for addresses and routes of IPv4 and IPv6: RTMGRP_LINK,
    /// RTMGRP_IPV4_IFADDR, RTMGRP_IPV4_ROUTE, RTMGRP_IPV6_IFADDR, RTMGRP_IPV6_ROUTE.
    private static let groups: UInt32 = 0x1 | 0x10 | 0x40 | 0x100 | 0x400

    /// struct sockaddr_nl of netlink(7), which Swift's module of the C library does not have.
    private struct Address {
        let family: UInt16
        let padding: UInt16 = 0
        let portID: UInt32 = 0
        let groups: UInt32
    }

    /// Returns a socket that receives the changes; `nil` if the system has none, as in some sandboxes.
    private static func openSocket() -> CInt? {
        let socketType = CInt(SOCK_RAW.rawValue) | CInt(SOCK_CLOEXEC.rawValue)
        let descriptor = socket(AF_NETLINK, socketType, 0)  // NETLINK_ROUTE is 0
        guard descriptor >= 0 else { return nil }
        var address = Address(family: UInt16(AF_NETLINK), groups: groups)
        let isBound = unsafe withUnsafeBytes(of: &address) { bytes in
            unsafe bytes.withMemoryRebound(to: sockaddr.self) { unsafe bind(descriptor, $0.baseAddress, socklen_t(bytes.count)) == 0 }
        }
        guard isBound else {
            close(descriptor)
            return nil
        }
        return descriptor
    }

    private static func readMessages(from socket: CInt) -> Bool {
        var buffer = [UInt8](repeating: 0, count: 16 << 10)
        return unsafe recv(socket, &buffer, buffer.count, 0) > 0
    }
}
