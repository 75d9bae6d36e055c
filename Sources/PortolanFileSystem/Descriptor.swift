// SPDX-License-Identifier: Apache-2.0

import PortolanCore

#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#endif

/// A file descriptor. It is not closed automatically: the code that opens a file also closes it.
package struct Descriptor: Equatable, Sendable {
    package let number: Int32

    package init(number: Int32) { self.number = number }

    package static let standardInput = Self(number: 0)
    package static let standardOutput = Self(number: 1)
    package static let standardError = Self(number: 2)

    /// Writes all the bytes. Blocks while a pipe, socket or terminal accepts none.
    ///
    /// write(2)
    package func write(all bytes: borrowing RawSpan) throws(SystemError) {
        let failure = unsafe bytes.withUnsafeBytes { buffer in unsafe writeAll(buffer) }
        if let failure { throw failure }
    }

    package func write(all bytes: [UInt8]) throws(SystemError) {
        let failure = unsafe bytes.withUnsafeBytes { buffer in unsafe writeAll(buffer) }
        if let failure { throw failure }
    }

    /// Writes all the bytes, the first one at `offset`. Does not change the file offset of the descriptor.
    ///
    /// pwrite(2)
    package func write(all bytes: borrowing RawSpan, at offset: Int64) throws(SystemError) {
        let failure: SystemError? = unsafe bytes.withUnsafeBytes { buffer in
            var written = 0
            while written < buffer.count {
                let part = unsafe UnsafeRawBufferPointer(rebasing: buffer[written...])
                let count = unsafe pwrite(number, part.baseAddress, part.count, off_t(offset) + off_t(written))
                if count >= 0 {
                    written += count
                } else if errno != EINTR {
                    return .last
                }
            }
            return nil
        }
        if let failure { throw failure }
    }

    /// Writes the first bytes: as many as the system accepts in one call.
    ///
    /// - Parameter offset: where the first byte is written; `nil` for the descriptor's own offset.
    ///
    /// write(2), pwrite(2)
    package func write(_ bytes: borrowing RawSpan, at offset: Int64? = nil) throws(SystemError) -> Int {
        let (count, failure) = unsafe bytes.withUnsafeBytes { buffer in
            while true {
                let count: Int
                if let offset {
                    count = unsafe pwrite(number, buffer.baseAddress, buffer.count, off_t(offset))
                } else {
                    #if canImport(Glibc)
                        count = unsafe Glibc.write(number, buffer.baseAddress, buffer.count)
                    #else
                        count = unsafe Musl.write(number, buffer.baseAddress, buffer.count)
                    #endif
                }
                if count >= 0 || errno != EINTR { return (count, count < 0 ? SystemError.last : nil) }
            }
        }
        if let failure { throw failure }
        return count
    }

    /// Reads the available bytes into `buffer`: as many as fit. Returns the number of bytes; 0 at the end.
    ///
    /// read(2)
    package func read(into buffer: inout OutputRawSpan) throws(SystemError) -> Int {
        var result = 0
        unsafe buffer.withUnsafeMutableBytes { bytes, initialized in
            let free = unsafe UnsafeMutableRawBufferPointer(rebasing: bytes[initialized...])
            repeat {
                #if canImport(Glibc)
                    result = unsafe Glibc.read(number, free.baseAddress, free.count)
                #else
                    result = unsafe Musl.read(number, free.baseAddress, free.count)
                #endif
            } while result < 0 && errno == EINTR
            if result > 0 { initialized += result }
        }
        guard result >= 0 else { throw .last }
        return result
    }

    private func writeAll(_ buffer: UnsafeRawBufferPointer) -> SystemError? {
        var rest = unsafe buffer[...]
        while unsafe !rest.isEmpty {
            let part = unsafe UnsafeRawBufferPointer(rebasing: rest)
            #if canImport(Glibc)
                let count = unsafe Glibc.write(number, part.baseAddress, part.count)
            #else
                let count = unsafe Musl.write(number, part.baseAddress, part.count)
            #endif
            if count >= 0 {
                unsafe rest = rest.dropFirst(count)
            } else if !Self.shouldRepeatCall(waitingFor: Int16(POLLOUT), on: number) {
                return .last
            }
        }
        return nil
    }

    /// Waits until bytes are available, and reads them. Returns the number of bytes; 0 at the end of the file.
    ///
    /// read(2)
    package func read(into buffer: inout [UInt8]) throws(SystemError) -> Int {
        while true {
            let count = unsafe buffer.withUnsafeMutableBytes { bytes in
                #if canImport(Glibc)
                    unsafe Glibc.read(number, bytes.baseAddress, bytes.count)
                #else
                    unsafe Musl.read(number, bytes.baseAddress, bytes.count)
                #endif
            }
            if count >= 0 { return count }
            guard Self.shouldRepeatCall(waitingFor: Int16(POLLIN), on: number) else { throw .last }
        }
    }

    /// Waits until a read returns immediately: with bytes, or at the end of the file.
    ///
    /// - Parameter limit: the longest wait; `nil` for no limit.
    /// - Returns: `false` after the longest wait.
    ///
    /// poll(2)
    package func waitUntilReadable(within limit: Duration?) throws(SystemError) -> Bool {
        let deadline = limit.map { MonotonicTime.now + $0 }
        var descriptor = pollfd(fd: number, events: Int16(POLLIN), revents: 0)
        while true {
            let rest = deadline.map { max($0 - MonotonicTime.now, .zero) }
            let count = unsafe poll(&descriptor, 1, rest.map { Int32(clamping: Int64($0 / .milliseconds(1))) } ?? -1)
            if count >= 0 { return count > 0 }
            guard errno == EINTR else { throw .last }
        }
    }

    /// Reads to the end. Waits before each read, because a read from a FIFO that no writer has opened yet returns 0, as
    /// at the end.
    ///
    /// - Parameters:
    ///   - limit: the largest accepted number of bytes.
    ///   - deadline: the end of the wait, on the clock of `MonotonicTime`; `nil` for no limit.
    /// - Returns: the bytes; `nil` if the end of the file did not arrive in time.
    /// - Throws: ``SystemError/fileTooLarge`` above `limit`.
    package func contents(atMost limit: Int, until deadline: Duration?) throws(SystemError) -> [UInt8]? {
        var bytes: [UInt8] = []
        var buffer = [UInt8](repeating: 0, count: 64 << 10)
        while bytes.count <= limit {
            guard try waitUntilReadable(within: deadline.map { max($0 - MonotonicTime.now, .zero) }) else { return nil }
            let count = try read(into: &buffer)
            guard count > 0 else { return bytes }
            bytes += buffer[..<count]
        }
        throw .fileTooLarge
    }

    /// Whether the descriptor was open when the program started. The program opens its own descriptors with FD_CLOEXEC.
    /// fcntl(2)
    package var isInherited: Bool {
        let flags = fcntl(number, F_GETFD)
        return flags >= 0 && flags & FD_CLOEXEC == 0
    }

    /// Whether the descriptor was opened for writing.
    package var isWritable: Bool {
        let flags = fcntl(number, F_GETFL)
        return flags >= 0 && flags & O_ACCMODE != O_RDONLY
    }

    /// Opens `/dev/null` for each standard descriptor that is closed, so that no later file or connection gets its
    /// number. A read of descriptor 0 and a write to 1 and 2 still fail.
    package static func reserveStandardDescriptors() {
        for number in 0...2 as ClosedRange<Int32> where fcntl(number, F_GETFD) < 0 {
            // open(2) uses the lowest free number.
            #if canImport(Glibc)
                _ = unsafe Glibc.open("/dev/null", number == 0 ? O_WRONLY : O_RDONLY)
            #else
                _ = unsafe Musl.open("/dev/null", number == 0 ? O_WRONLY : O_RDONLY)
            #endif
        }
    }

    /// Duplicates the descriptor. Both descriptors share the open file with its offset and its modes.
    package func copy() throws(SystemError) -> Descriptor {
        let copy = fcntl(number, F_DUPFD_CLOEXEC, 3)
        guard copy >= 0 else { throw .last }
        return Descriptor(number: copy)
    }

    /// Makes another descriptor refer to the open file of this one: dup2(2).
    package func replace(_ other: Descriptor) throws(SystemError) {
        guard dup2(number, other.number) >= 0 else { throw .last }
    }

    package func close() throws(SystemError) {
        #if canImport(Glibc)
            let status = Glibc.close(number)
        #else
            let status = Musl.close(number)
        #endif
        // Linux closes the descriptor even with EINTR: close(2).
        if status != 0, errno != EINTR { throw .last }
    }

    package var isTerminal: Bool { isatty(number) == 1 }

    /// The number of columns if this is a terminal, otherwise `nil`: ioctl_tty(2).
    package var columns: Int? {
        var size = winsize()
        guard unsafe ioctl(number, UInt(TIOCGWINSZ), &size) == 0, size.ws_col > 0 else { return nil }
        return Int(size.ws_col)
    }

    /// Whether to repeat a failed call: after EINTR, and after EAGAIN, which occurs if the parent process made the
    /// descriptor non-blocking. In the second case, waits first.
    private static func shouldRepeatCall(waitingFor events: Int16, on number: Int32) -> Bool {
        switch errno {
        case EINTR: return true
        case EAGAIN:
            var descriptor = pollfd(fd: number, events: events, revents: 0)
            return unsafe poll(&descriptor, 1, -1) >= 0 || errno == EINTR
        default: return false
        }
    }
}
