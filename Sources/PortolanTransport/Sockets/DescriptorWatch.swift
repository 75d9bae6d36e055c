// SPDX-License-Identifier: Apache-2.0

import PortolanCore
import Synchronization

#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#endif

/// Reports once when a descriptor can be read or written: a pipe, a socket, a terminal, or another file that epoll(7)
/// supports. Any thread can call the methods.
package final class DescriptorWatch: Sendable {
    private let loop: SocketEventLoop
    private let socket: LoopBound<WatchedDescriptor>

    /// - Parameters:
    ///   - descriptor: stays open until ``end()``. A second watch needs a descriptor with another number.
    ///   - isForWriting: whether to wait until the descriptor can be written.
    package init(_ descriptor: CInt, isForWriting: Bool, on loop: SocketEventLoop) {
        self.loop = loop
        socket = LoopBound(WatchedDescriptor(descriptor, isForWriting ? .write : .read, on: loop))
    }

    /// Calls `action` on the event loop when the next read or write does not wait. Call it again only after that.
    package func whenReady(_ action: @escaping @Sendable () -> Void) {
        loop.execute { [socket] in socket.value.wait(action) }
    }

    /// Ends the watch. The descriptor can be closed immediately.
    package func end() {
        socket.value.stopWatching()
        loop.execute { [socket] in socket.value.remove() }
    }
}

/// Used on its event loop only, except for ``stopWatching()``.
private final class WatchedDescriptor: PolledSocket {
    private enum Registration {
        case none
        /// The poller watches the descriptor.
        case watched
        /// The descriptor can belong to another file.
        case ended
    }

    private let descriptor: CInt
    private let interest: SocketPoller.Interest
    private let loop: SocketEventLoop
    private let registration = Mutex(Registration.none)
    private(set) var pollID: UInt64 = 0
    private var action: (@Sendable () -> Void)?

    init(_ descriptor: CInt, _ interest: SocketPoller.Interest, on loop: SocketEventLoop) {
        (self.descriptor, self.interest, self.loop) = (descriptor, interest, loop)
    }

    func wait(_ action: @escaping @Sendable () -> Void) {
        guard self.action == nil else { return self.action = action }
        pollID = loop.add(self)
        self.action = action
        let failure: CInt? = registration.withLock { registration in
            guard registration == .none else { return nil }
            guard loop.poller.watch(descriptor, for: interest, pollID: pollID) else { return errno }
            registration = .watched
            return nil
        }
        // Regular files can't be polled. They are always ready.
        guard let failure else { return }
        if failure == EPERM { return finish() }
        // The system lacks memory or watches, so look again later.
        let bound = LoopBound(self)
        _ = loop.schedule(after: .milliseconds(10)) { bound.value.finish() }
    }

    func handle(_ events: SocketPoller.Interest) {
        registration.withLock { registration in
            guard registration == .watched else { return }
            loop.poller.stopWatching(descriptor)
            registration = .none
        }
        finish()
    }

    private func finish() {
        guard let action else { return }
        remove()
        action()
    }

    func stopWatching() {
        registration.withLock { registration in
            if registration == .watched { loop.poller.stopWatching(descriptor) }
            registration = .ended
        }
    }

    func remove() {
        guard action != nil else { return }
        action = nil
        loop.remove(self)
    }
}
