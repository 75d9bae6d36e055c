// SPDX-License-Identifier: Apache-2.0

import CServerSupport
import Glibc

/// The calls that the servers of the tests make, each with its errors, and none interrupted by a signal. Descriptors do not outlive an exec.
enum SystemCalls {
    static func message(for errno: Int32) -> String {
        guard let text = unsafe strerror(errno) else { return "error \(errno)" }
        return unsafe String(cString: text)
    }

    static func close(_ descriptor: Int32) {
        _ = Glibc.close(descriptor)
    }

    // MARK: Pipes and events

    static func pipe() throws -> (reading: FileDescriptor, writing: FileDescriptor) {
        var ends: [Int32] = [0, 0]
        try check("pipe2", unsafe pipe2(&ends, O_CLOEXEC))
        return (FileDescriptor(ends[0]), FileDescriptor(ends[1]))
    }

    /// A descriptor that is readable once it is ``signal(_:)``ed, from then on and for everybody.
    static func event() throws -> FileDescriptor {
        FileDescriptor(try check("eventfd", eventfd(0, O_CLOEXEC | O_NONBLOCK)))
    }

    static func signal(_ event: FileDescriptor) {
        _ = eventfd_write(event.number, 1)
    }

    /// Waits until one of the descriptors has what is asked of it, or is at its end.
    ///
    /// - Parameter events: `POLLIN` or `POLLOUT` or both, for each.
    /// - Returns: what each has; zeros for all where the time is over.
    static func wait(for descriptors: [(FileDescriptor, Int32)], milliseconds: Int32 = -1) -> [Int32] {
        var watched = descriptors.map { pollfd(fd: $0.0.number, events: Int16($0.1), revents: 0) }
        while unsafe poll(&watched, nfds_t(watched.count), milliseconds) < 0, errno == EINTR {}
        return watched.map { Int32($0.revents) }
    }

    // MARK: Bytes

    /// - Returns: nothing at the end; `nil` where there is nothing to read yet.
    static func read(_ descriptor: FileDescriptor, upTo count: Int = 65536) throws -> [UInt8]? {
        var failure: Int32 = 0
        let bytes = unsafe [UInt8](unsafeUninitializedCapacity: count) { buffer, filled in
            repeat { filled = unsafe Glibc.read(descriptor.number, buffer.baseAddress, count) } while filled < 0 && errno == EINTR
            if filled < 0 {
                failure = errno
                filled = 0
            }
        }
        if failure == EAGAIN { return nil }
        guard failure == 0 else { throw ServerError(call: "read", errno: failure) }
        return bytes
    }

    /// Raises no SIGPIPE.
    ///
    /// - Returns: how many bytes were taken; 0 where there is no room yet.
    static func send(_ bytes: ArraySlice<UInt8>, to socket: FileDescriptor) throws -> Int {
        let flags = Int32(MSG_NOSIGNAL)
        var sent: Int
        repeat {
            sent = unsafe bytes.withUnsafeBytes { unsafe Glibc.send(socket.number, $0.baseAddress, $0.count, flags) }
        } while sent < 0 && errno == EINTR
        if sent >= 0 { return sent }
        guard errno == EAGAIN else { throw ServerError(call: "send", errno: errno) }
        return 0
    }

    @discardableResult
    static func check(_ call: String, _ result: Int32) throws -> Int32 {
        guard result >= 0 else { throw ServerError(call: call, errno: errno) }
        return result
    }
}
