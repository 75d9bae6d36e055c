// SPDX-License-Identifier: Apache-2.0

#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#endif

/// An open file, by its number: the one door to the calls that read and write. Who opened it closes it.
struct Descriptor: Equatable, Sendable {
    let number: Int32

    static let standardInput = Self(number: 0)
    static let standardOutput = Self(number: 1)
    static let standardError = Self(number: 2)

    /// Writes all the bytes, however long the reader takes.
    ///
    /// write(2)
    func write(all bytes: borrowing RawSpan) throws(SystemError) {
        let failure = unsafe bytes.withUnsafeBytes { buffer in unsafe writeAll(buffer) }
        if let failure { throw failure }
    }

    func write(all bytes: [UInt8]) throws(SystemError) {
        let failure = unsafe bytes.withUnsafeBytes { buffer in unsafe writeAll(buffer) }
        if let failure { throw failure }
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
            } else if !Self.isWorthAnotherTry(waitingFor: Int16(POLLOUT), on: number) {
                return .last
            }
        }
        return nil
    }

    /// Reads what there is, waiting for the first byte; 0 at the end.
    ///
    /// read(2)
    func read(into buffer: inout [UInt8]) throws(SystemError) -> Int {
        while true {
            let count = unsafe buffer.withUnsafeMutableBytes { bytes in
                #if canImport(Glibc)
                    unsafe Glibc.read(number, bytes.baseAddress, bytes.count)
                #else
                    unsafe Musl.read(number, bytes.baseAddress, bytes.count)
                #endif
            }
            if count >= 0 { return count }
            guard Self.isWorthAnotherTry(waitingFor: Int16(POLLIN), on: number) else { throw .last }
        }
    }

    /// Waits until there is something to read, or the end; `nil` for as long as it takes.
    ///
    /// poll(2)
    func canBeRead(within limit: Duration?) throws(SystemError) -> Bool {
        let milliseconds = limit.map { Int32(clamping: Int64($0 / .milliseconds(1))) } ?? -1
        var descriptor = pollfd(fd: number, events: Int16(POLLIN), revents: 0)
        while true {
            let count = unsafe poll(&descriptor, 1, milliseconds)
            if count >= 0 { return count > 0 }
            guard errno == EINTR else { throw .last }
        }
    }

    func close() throws(SystemError) {
        #if canImport(Glibc)
            let status = Glibc.close(number)
        #else
            let status = Musl.close(number)
        #endif
        // After EINTR Linux has closed the descriptor all the same: close(2).
        if status != 0, errno != EINTR { throw .last }
    }

    var isTerminal: Bool { isatty(number) == 1 }

    /// How many columns the terminal has, if this is one: ioctl_tty(2).
    var columns: Int? {
        var size = winsize()
        guard unsafe ioctl(number, UInt(TIOCGWINSZ), &size) == 0, size.ws_col > 0 else { return nil }
        return Int(size.ws_col)
    }

    /// After an interruption, and after a wait where a parent has made the descriptor non-blocking.
    private static func isWorthAnotherTry(waitingFor events: Int16, on number: Int32) -> Bool {
        switch errno {
        case EINTR: return true
        case EAGAIN:
            var descriptor = pollfd(fd: number, events: events, revents: 0)
            return unsafe poll(&descriptor, 1, -1) >= 0 || errno == EINTR
        default: return false
        }
    }
}
