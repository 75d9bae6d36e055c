// SPDX-License-Identifier: Apache-2.0

import CServerSupport
import Glibc

/// The loopback address that a test server is bound to.
package enum Loopback: Sendable {
    case ipv4, ipv6

    /// The address as the host of a URL.
    package var host: String {
        switch self {
        case .ipv4: "127.0.0.1"
        case .ipv6: "[::1]"
        }
    }
}

extension SystemCalls {
    /// Returns a non-blocking stream socket bound to `port`, or to a port that the kernel chooses if `port` is 0.
    static func boundSocket(_ loopback: Loopback, port: Int) throws -> FileDescriptor {
        let socket = try openSocket(loopback)
        try setOption(SO_REUSEADDR, to: 1, on: socket)
        guard let port = UInt16(exactly: port) else { throw ServerError("\(port) is not a port number") }
        let result = unsafe withAddress(loopback, port) { address, length in unsafe bind(socket.number, address, length) }
        try check("bind to port \(port)", result)
        return socket
    }

    static func openSocket(_ loopback: Loopback) throws -> FileDescriptor {
        let kind = Int32(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue | SOCK_NONBLOCK.rawValue)
        return FileDescriptor(try check("socket", socket(loopback == .ipv4 ? AF_INET : AF_INET6, kind, 0)))
    }

    static func listen(_ socket: FileDescriptor, backlog: Int32) throws {
        try check("listen", Glibc.listen(socket.number, backlog))
    }

    /// Starts to connect and returns without waiting.
    static func connect(_ socket: FileDescriptor, _ loopback: Loopback, port: Int) throws {
        let result = unsafe withAddress(loopback, UInt16(truncatingIfNeeded: port)) { address, length in
            unsafe Glibc.connect(socket.number, address, length)
        }
        guard result == 0 || errno == EINPROGRESS else { throw ServerError(call: "connect", errno: errno) }
    }

    /// - Returns: `nil` if no connection is pending.
    static func accept(_ listener: FileDescriptor) throws -> FileDescriptor? {
        let number = accept4(listener.number, nil, nil, Int32(SOCK_CLOEXEC.rawValue | SOCK_NONBLOCK.rawValue))
        if number >= 0 { return FileDescriptor(number) }
        guard [EAGAIN, EINTR, ECONNABORTED].contains(errno) else { throw ServerError(call: "accept", errno: errno) }
        return nil
    }

    static func port(of socket: FileDescriptor) throws -> Int {
        var address = sockaddr_in6()
        var length = socklen_t(MemoryLayout<sockaddr_in6>.size)
        let result = unsafe withUnsafeMutableBytes(of: &address) { bytes in
            unsafe getsockname(socket.number, bytes.baseAddress?.assumingMemoryBound(to: sockaddr.self), &length)
        }
        try check("getsockname", result)
        // The port has the same offset in both address structures.
        return Int(UInt16(bigEndian: address.sin6_port))
    }

    // MARK: Options and shutdown

    /// Makes each `send` send its bytes immediately, in a separate packet.
    static func disableNagle(_ socket: FileDescriptor) throws {
        var value: Int32 = 1
        try check(
            "setsockopt", unsafe setsockopt(socket.number, Int32(IPPROTO_TCP), TCP_NODELAY, &value, socklen_t(MemoryLayout<Int32>.size)))
    }

    /// Makes a later close send a reset. The kernel then discards data that the peer has not received.
    static func resetOnClose(_ socket: FileDescriptor) throws {
        var value = linger(l_onoff: 1, l_linger: 0)
        try check("setsockopt", unsafe setsockopt(socket.number, SOL_SOCKET, SO_LINGER, &value, socklen_t(MemoryLayout<linger>.size)))
    }

    static func setOption(_ option: Int32, to newValue: Int32, on socket: FileDescriptor) throws {
        var value = newValue
        try check("setsockopt", unsafe setsockopt(socket.number, SOL_SOCKET, option, &value, socklen_t(MemoryLayout<Int32>.size)))
    }

    /// Ends sending. The peer can still send.
    static func endSending(_ socket: FileDescriptor) {
        _ = shutdown(socket.number, Int32(SHUT_WR))
    }

    /// Calls a function with the address in the format of the kernel.
    private static func withAddress(
        _ loopback: Loopback, _ port: UInt16, _ call: (UnsafePointer<sockaddr>?, socklen_t) -> Int32
    ) -> Int32 {
        switch loopback {
        case .ipv4:
            var address = sockaddr_in()
            address.sin_family = sa_family_t(AF_INET)
            address.sin_port = port.bigEndian
            address.sin_addr.s_addr = UInt32(0x7F00_0001).bigEndian
            return unsafe withUnsafeBytes(of: &address) { bytes in
                unsafe call(bytes.baseAddress?.assumingMemoryBound(to: sockaddr.self), socklen_t(bytes.count))
            }
        case .ipv6:
            var address = sockaddr_in6()
            address.sin6_family = sa_family_t(AF_INET6)
            address.sin6_port = port.bigEndian
            address.sin6_addr = in6addr_loopback
            return unsafe withUnsafeBytes(of: &address) { bytes in
                unsafe call(bytes.baseAddress?.assumingMemoryBound(to: sockaddr.self), socklen_t(bytes.count))
            }
        }
    }
}
