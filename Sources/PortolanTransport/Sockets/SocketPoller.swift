// SPDX-License-Identifier: Apache-2.0

import CPortolanLinux
import PortolanCore

#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#endif

/// Waits for many sockets at once (`epoll(7)`, level-triggered), and for a wake-up from another thread (`eventfd(2)`).
@safe
final class SocketPoller: @unchecked Sendable {  // … because any thread may use the descriptors, and only the one that waits uses `events`
    struct Interest: OptionSet {
        let rawValue: UInt32

        static let read = Self(rawValue: EPOLLIN.rawValue)
        static let write = Self(rawValue: EPOLLOUT.rawValue)
        /// Always reported.
        static let hangUp = Self(rawValue: EPOLLHUP.rawValue)
        static let error = Self(rawValue: EPOLLERR.rawValue)
        /// The peer sends no more.
        static let readHangUp = Self(rawValue: EPOLLRDHUP.rawValue)
    }

    private let descriptor: CInt
    private let bell: CInt
    private static let bellMark = UInt64.max
    private let events: UnsafeMutableBufferPointer<epoll_event>

    /// - Throws: ``LoadError/Code/noResources``
    init() throws(LoadError) {
        let bell = eventfd(0, CInt(EFD_NONBLOCK | EFD_CLOEXEC))
        let descriptor = epoll_create1(CInt(EPOLL_CLOEXEC))
        (self.bell, self.descriptor) = (bell, descriptor)
        unsafe events = .allocate(capacity: 256)
        unsafe events.initialize(repeating: epoll_event())
        guard bell >= 0, descriptor >= 0, change(EPOLL_CTL_ADD, bell, .read, Self.bellMark) else {
            throw LoadError(.noResources, message: "can't wait for sockets: \(LoadError.text(of: errno)); close some files")
        }
    }

    deinit {
        if bell >= 0 { close(bell) }
        if descriptor >= 0 { close(descriptor) }
        unsafe events.deallocate()
    }

    /// - Parameter mark: identifies the socket in ``event(_:)``. No two sockets have the same.
    /// - Returns: whether the system accepted it.
    func watch(_ socket: CInt, for interest: Interest, mark: UInt64) -> Bool { change(EPOLL_CTL_ADD, socket, interest, mark) }
    func watchAgain(_ socket: CInt, for interest: Interest, mark: UInt64) -> Bool { change(EPOLL_CTL_MOD, socket, interest, mark) }
    func forget(_ socket: CInt) { _ = change(EPOLL_CTL_DEL, socket, [], 0) }

    private func change(_ operation: CInt, _ socket: CInt, _ interest: Interest, _ mark: UInt64) -> Bool {
        var event = unsafe epoll_event(events: interest.rawValue, data: epoll_data_t(u64: mark))
        return unsafe epoll_ctl(descriptor, operation, socket, &event) == 0
    }

    /// Ends the wait of another thread, or its next one.
    func wake() {
        // It fails only if the counter is full. Then the wake-up is already pending.
        _ = eventfd_write(bell, 1)
    }

    /// - Parameter limit: in milliseconds; `nil` means no limit.
    /// - Returns: the number of events, for ``event(_:)``.
    func wait(atMost limit: CInt?) -> Int {
        Int(max(0, unsafe epoll_wait(descriptor, events.baseAddress, CInt(events.count), limit ?? -1)))
    }

    /// - Returns: the event; `nil` for a wake-up.
    func event(_ index: Int) -> (mark: UInt64, happened: Interest)? {
        let event = unsafe events[index]
        guard unsafe event.data.u64 != Self.bellMark else {
            var count: eventfd_t = 0
            unsafe eventfd_read(bell, &count)
            return nil
        }
        return unsafe (event.data.u64, Interest(rawValue: event.events))
    }
}
