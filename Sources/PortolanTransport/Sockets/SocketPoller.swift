// SPDX-License-Identifier: Apache-2.0

import CPortolanLinux
import PortolanCore

#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#endif

/// Waits for events of many sockets (`epoll(7)`, level-triggered), and for a wake-up by another thread (`eventfd(2)`).
@safe
final class SocketPoller: @unchecked Sendable {  // … because any thread can use the descriptors, and one thread uses `events`
    struct Interest: OptionSet {
        let rawValue: UInt32

        static let read = Self(rawValue: EPOLLIN.rawValue)
        static let write = Self(rawValue: EPOLLOUT.rawValue)
        /// The poller always reports this event, even without interest in it.
        static let hangUp = Self(rawValue: EPOLLHUP.rawValue)
        static let error = Self(rawValue: EPOLLERR.rawValue)
        /// The peer has closed its sending direction.
        static let readHangUp = Self(rawValue: EPOLLRDHUP.rawValue)
    }

    private let descriptor: CInt
    private let wakeDescriptor: CInt
    private static let wakeID = UInt64.max
    private let events: UnsafeMutableBufferPointer<epoll_event>

    /// - Throws: ``LoadError/Code/noResources``
    init() throws(LoadError) {
        let wakeDescriptor = eventfd(0, CInt(EFD_NONBLOCK | EFD_CLOEXEC))
        let descriptor = epoll_create1(CInt(EPOLL_CLOEXEC))
        (self.wakeDescriptor, self.descriptor) = (wakeDescriptor, descriptor)
        unsafe events = .allocate(capacity: 256)
        unsafe events.initialize(repeating: epoll_event())
        guard wakeDescriptor >= 0, descriptor >= 0, control(EPOLL_CTL_ADD, wakeDescriptor, .read, Self.wakeID) else {
            throw LoadError(.noResources, message: "can't wait for sockets: \(LoadError.text(of: errno)); close some files")
        }
    }

    deinit {
        if wakeDescriptor >= 0 { close(wakeDescriptor) }
        if descriptor >= 0 { close(descriptor) }
        unsafe events.deallocate()
    }

    /// - Parameter pollID: identifies the socket in ``event(_:)``. Each socket has a different ID.
    /// - Returns: `false` if the system returns an error; errno has the reason.
    func watch(_ socket: CInt, for interest: Interest, pollID: UInt64) -> Bool { control(EPOLL_CTL_ADD, socket, interest, pollID) }
    func changeInterest(_ socket: CInt, for interest: Interest, pollID: UInt64) -> Bool { control(EPOLL_CTL_MOD, socket, interest, pollID) }
    func stopWatching(_ socket: CInt) { _ = control(EPOLL_CTL_DEL, socket, [], 0) }

    private func control(_ operation: CInt, _ socket: CInt, _ interest: Interest, _ pollID: UInt64) -> Bool {
        var event = unsafe epoll_event(events: interest.rawValue, data: epoll_data_t(u64: pollID))
        return unsafe epoll_ctl(descriptor, operation, socket, &event) == 0
    }

    /// Ends the current or the next ``wait(atMost:)`` of the loop's thread.
    func wake() {
        // This fails only if the counter is at its maximum. Then a wake-up is already pending.
        _ = eventfd_write(wakeDescriptor, 1)
    }

    /// - Parameter limit: in milliseconds; `nil` means no limit.
    /// - Returns: the number of events. ``event(_:)`` returns each of them.
    func wait(atMost limit: CInt?) -> Int {
        Int(max(0, unsafe epoll_wait(descriptor, events.baseAddress, CInt(events.count), limit ?? -1)))
    }

    /// - Returns: the event; `nil` for a wake-up.
    func event(_ index: Int) -> (pollID: UInt64, events: Interest)? {
        let event = unsafe events[index]
        guard unsafe event.data.u64 != Self.wakeID else {
            var count: eventfd_t = 0
            unsafe eventfd_read(wakeDescriptor, &count)
            return nil
        }
        return unsafe (event.data.u64, Interest(rawValue: event.events))
    }
}
