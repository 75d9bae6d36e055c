// SPDX-License-Identifier: Apache-2.0

import CServerSupport
import Glibc

/// The system calls of the test servers. Each function throws the error of its call, and repeats a call that a signal
/// interrupted. All descriptors are closed on exec.
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

    /// Returns an event: a descriptor that ``signal(_:)`` makes readable for all waiters. It stays readable.
    static func event() throws -> FileDescriptor {
        FileDescriptor(try check("eventfd", eventfd(0, O_CLOEXEC | O_NONBLOCK)))
    }

    static func signal(_ event: FileDescriptor) {
        _ = eventfd_write(event.number, 1)
    }

    /// Waits until one of the descriptors has a requested event or has reached its end.
    ///
    /// - Parameters:
    ///   - descriptors: the descriptors, each with `POLLIN`, `POLLOUT` or both.
    ///   - milliseconds: the timeout; −1 waits without a limit.
    /// - Returns: the events of each descriptor; only zeros after a timeout.
    static func wait(for descriptors: [(FileDescriptor, Int32)], milliseconds: Int32 = -1) -> [Int32] {
        var pollDescriptors = descriptors.map { pollfd(fd: $0.0.number, events: Int16($0.1), revents: 0) }
        while unsafe poll(&pollDescriptors, nfds_t(pollDescriptors.count), milliseconds) < 0, errno == EINTR {}
        return pollDescriptors.map { Int32($0.revents) }
    }

    // MARK: Bytes

    /// - Returns: an empty array at the end of the stream; `nil` if no bytes are available yet.
    static func read(_ descriptor: FileDescriptor, upTo count: Int = 65536) throws -> [UInt8]? {
        var errorNumber: Int32 = 0
        let bytes = unsafe [UInt8](unsafeUninitializedCapacity: count) { buffer, filledCount in
            repeat { filledCount = unsafe Glibc.read(descriptor.number, buffer.baseAddress, count) } while filledCount < 0 && errno == EINTR
            if filledCount < 0 {
                errorNumber = errno
                filledCount = 0
            }
        }
        if errorNumber == EAGAIN { return nil }
        guard errorNumber == 0 else { throw ServerError(call: "read", errno: errorNumber) }
        return bytes
    }

    /// Sends without raising SIGPIPE.
    ///
    /// - Returns: the number of bytes that were sent; 0 if the buffer is full.
    static func send(_ bytes: ArraySlice<UInt8>, to socket: FileDescriptor) throws -> Int {
        let flags = Int32(MSG_NOSIGNAL)
        var sentCount: Int
        repeat {
            sentCount = unsafe bytes.withUnsafeBytes { unsafe Glibc.send(socket.number, $0.baseAddress, $0.count, flags) }
        } while sentCount < 0 && errno == EINTR
        if sentCount >= 0 { return sentCount }
        guard errno == EAGAIN else { throw ServerError(call: "send", errno: errno) }
        return 0
    }

    @discardableResult
    static func check(_ call: String, _ result: Int32) throws -> Int32 {
        guard result >= 0 else { throw ServerError(call: call, errno: errno) }
        return result
    }
}
