// SPDX-License-Identifier: Apache-2.0

import CLinux
import Glibc

/// epoll(7), level-triggered, for the raw loop and for libcurl's socket interface.
@safe
final class Poller: @unchecked Sendable {  // … because the runs of a competitor are sequential
    private let descriptor: Int32
    private let events: UnsafeMutableBufferPointer<epoll_event>

    init() throws {
        descriptor = epoll_create1(O_CLOEXEC)
        guard descriptor >= 0 else { throw RawSocket.failure("epoll_create1") }
        unsafe events = .allocate(capacity: 256)
    }

    deinit {
        close(descriptor)
        unsafe events.deallocate()
    }

    /// - Parameter tag: the value that `wait` passes to its closure when bytes are available.
    func watch(_ socket: Int32, as tag: UInt64) throws {
        guard control(EPOLL_CTL_ADD, socket, bench_epoll_in, tag) else { throw RawSocket.failure("epoll_ctl") }
    }

    func control(_ operation: Int32, _ socket: Int32, _ interest: UInt32, _ tag: UInt64) -> Bool {
        var event = unsafe epoll_event(events: interest, data: epoll_data_t(u64: tag))
        return unsafe epoll_ctl(descriptor, operation, socket, &event) == 0
    }

    /// Waits for events or the end of the time limit, and calls `handleEvent` for each event.
    ///
    /// - Parameter limit: the time limit in milliseconds; negative for none.
    func wait(atMost limit: Int32 = -1, _ handleEvent: (_ tag: UInt64) throws -> Void) throws {
        try wait(atMost: limit) { tag, _ in try handleEvent(tag) }
    }

    func wait(atMost limit: Int32, _ handleEvent: (_ tag: UInt64, _ events: UInt32) throws -> Void) throws {
        let count = unsafe epoll_wait(descriptor, events.baseAddress, Int32(events.count), limit)
        guard count >= 0 || errno == EINTR else { throw RawSocket.failure("epoll_wait") }
        for index in 0..<Int(max(0, count)) {
            let event = unsafe events[index]
            unsafe try handleEvent(event.data.u64, event.events)
        }
    }
}
