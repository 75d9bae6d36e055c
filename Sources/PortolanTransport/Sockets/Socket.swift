// SPDX-License-Identifier: Apache-2.0

import PortolanCore

#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#endif

/// A non-blocking stream socket. No call waits or raises SIGPIPE. Use it on its event loop only.
///
/// After ``close()``, sending, receiving, peeking and shutting down make no system calls, because the number of the
/// descriptor can belong to another file. For example, OpenSSL can try to send an alert after the close; `send` then
/// fails with `EPIPE`.
final class Socket: TLSRecordTransport {
    let descriptor: CInt
    private(set) var isClosed = false

    /// - Parameter descriptor: a non-blocking stream socket, which this object owns from now on.
    init(_ descriptor: CInt) { self.descriptor = descriptor }

    deinit { close() }

    /// - Returns: `nil` if the system can't make a socket; errno has the reason.
    static func make(_ family: CInt, for service: NetworkServiceType = .default) -> Socket? {
        let descriptor = socket(family, CInt(SOCK_STREAM.rawValue) | CInt(SOCK_NONBLOCK.rawValue) | CInt(SOCK_CLOEXEC.rawValue), 0)
        guard descriptor >= 0 else { return nil }
        let made = Socket(descriptor)
        made.sendImmediately()
        if service != .default {
            var field = CInt(service.rawValue)
            // An error is ignored, because the connection also works without the field. A socket for IPv6 can also send
            // IPv4 packets.
            unsafe setsockopt(descriptor, CInt(IPPROTO_IP), IP_TOS, &field, socklen_t(MemoryLayout<CInt>.size))
            if family == AF_INET6 {
                unsafe setsockopt(descriptor, CInt(IPPROTO_IPV6), IPV6_TCLASS, &field, socklen_t(MemoryLayout<CInt>.size))
            }
        }
        return made
    }

    /// Sends small writes without waiting for more: TCP_NODELAY, tcp(7). Writes that belong together use MSG_MORE.
    func sendImmediately() {
        var on: CInt = 1
        unsafe setsockopt(descriptor, CInt(IPPROTO_TCP), TCP_NODELAY, &on, socklen_t(MemoryLayout<CInt>.size))
    }

    /// Gives the descriptor to the caller, who closes it.
    func release() -> CInt {
        isClosed = true
        return descriptor
    }

    func close() {
        guard !isClosed else { return }
        isClosed = true
        _ = systemClose(descriptor)
    }

    /// Ends the connection in both directions. The number of the descriptor stays in use.
    func shutDown() { if !isClosed { _ = shutdown(descriptor, CInt(SHUT_RDWR)) } }

    /// Makes the close send a reset (`SO_LINGER`, socket(7)), so that the peer does not take it for a proper end.
    func resetOnClose() {
        guard !isClosed else { return }
        var option = linger(l_onoff: 1, l_linger: 0)
        unsafe setsockopt(descriptor, SOL_SOCKET, SO_LINGER, &option, socklen_t(MemoryLayout<linger>.size))
    }

    /// Closes the sending direction. Bytes from the peer are still received.
    func shutDownWriting() { if !isClosed { _ = shutdown(descriptor, CInt(SHUT_WR)) } }

    /// Starts to connect: connect(2).
    ///
    /// - Returns: 0, `EINPROGRESS`, or the errno of the failure.
    func connect(to address: SocketAddress) -> CInt {
        while true {
            let status = unsafe address.withSystemAddress { unsafe systemConnect(descriptor, $0, $1) }
            if status == 0 { return 0 }
            if errno != EINTR { return errno }
        }
    }

    /// Starts to connect to a UNIX socket.
    ///
    /// - Returns: 0, `EAGAIN` if the server has too many waiting connections, or the errno of the failure.
    func connect(to address: UNIXSocketAddress) -> CInt {
        while true {
            let status = unsafe address.withSystemAddress { unsafe systemConnect(descriptor, $0, $1) }
            if status == 0 { return 0 }
            if errno != EINTR { return errno }
        }
    }

    /// The address of this end. `nil` if the socket is closed, or not an IP socket.
    var localAddress: SocketAddress? { isClosed ? nil : Self.localAddress(of: descriptor) }

    /// getsockname(2)
    static func localAddress(of descriptor: CInt) -> SocketAddress? {
        unsafe address { unsafe getsockname(descriptor, $0, $1) }
    }

    /// getpeername(2)
    static func remoteAddress(of descriptor: CInt) -> SocketAddress? {
        unsafe address { unsafe getpeername(descriptor, $0, $1) }
    }

    private static func address(
        _ read: (UnsafeMutablePointer<sockaddr>, UnsafeMutablePointer<socklen_t>) -> CInt
    ) -> SocketAddress? {
        var storage = sockaddr_storage()
        var size = socklen_t(MemoryLayout<sockaddr_storage>.size)
        return unsafe withUnsafeMutablePointer(to: &storage) { pointer in
            // The port has the same place in `sockaddr_in` and `sockaddr_in6`.
            let port = { unsafe pointer.withMemoryRebound(to: sockaddr_in.self, capacity: 1) { unsafe $0.pointee.sin_port } }
            return unsafe pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { address in
                guard unsafe read(address, &size) == 0 else { return nil }
                return unsafe SocketAddress(address, port: Int(UInt16(bigEndian: port())))
            }
        }
    }

    /// The errno of connect(2), when the socket is writable; 0 if the socket is connected.
    var connectError: CInt {
        var (error, size) = (CInt(0), socklen_t(MemoryLayout<CInt>.size))
        return unsafe getsockopt(descriptor, SOL_SOCKET, SO_ERROR, &error, &size) == 0 ? error : errno
    }

    /// The next input of a socket.
    enum NextInput { case nothing, bytes, end, failure }

    /// Looks at the next input without reading it.
    func peek() -> NextInput {
        guard !isClosed else { return .end }
        var byte: UInt8 = 0
        let count = unsafe recv(descriptor, &byte, 1, CInt(MSG_PEEK | MSG_DONTWAIT))
        if count > 0 { return .bytes }
        if count == 0 { return .end }
        return errno == EAGAIN || errno == EINTR ? .nothing : .failure
    }

    func receive(_ target: UnsafeMutableRawBufferPointer) -> TransferResult {
        guard !isClosed else { return .end }
        while true {
            let count = unsafe recv(descriptor, target.baseAddress, target.count, 0)
            if count > 0 { return .moved(count) }
            if count == 0 { return .end }
            if errno == EAGAIN { return .wouldBlock }
            if errno != EINTR { return .failed(.system(errno)) }
        }
    }

    /// A receive that did not fill the buffer has emptied the socket, because recv(2) returns all available bytes, up
    /// to the size of the buffer.
    var isDrainedByShortRead: Bool { true }

    func send(_ bytes: UnsafeRawBufferPointer) -> TransferResult { unsafe send(bytes, hasMore: false) }

    func send(_ bytes: UnsafeRawBufferPointer, hasMore: Bool) -> TransferResult {
        guard !isClosed else { return .failed(.system(EPIPE)) }
        let flags = CInt(MSG_NOSIGNAL | (hasMore ? MSG_MORE : 0))
        while true {
            let count = unsafe systemSend(descriptor, bytes.baseAddress, bytes.count, flags)
            if count >= 0 { return .moved(count) }
            if errno == EAGAIN { return .wouldBlock }
            if errno != EINTR { return .failed(.system(errno)) }
        }
    }

    /// Makes the kernel send bytes of a file: sendfile(2).
    ///
    /// - Returns: the number of accepted bytes, or a negative errno.
    func send(file: CInt, from offset: Int64, atMost count: Int) -> Int {
        guard !isClosed else { return -Int(EPIPE) }
        return withWriteSignalsBlocked {
            while true {
                var position = off_t(offset)
                let sentCount = unsafe sendfile(descriptor, file, &position, count)
                if sentCount >= 0 { return sentCount }
                if errno != EINTR { return -Int(errno) }
            }
        }
    }
}

// These functions are outside of the class, because inside it `close`, `connect` and `send` mean the class's methods.

private func systemClose(_ descriptor: CInt) -> CInt { close(descriptor) }

private func systemConnect(_ descriptor: CInt, _ address: UnsafePointer<sockaddr>, _ size: socklen_t) -> CInt {
    unsafe connect(descriptor, address, size)
}

private func systemSend(_ descriptor: CInt, _ bytes: UnsafeRawPointer?, _ count: Int, _ flags: CInt) -> Int {
    unsafe send(descriptor, bytes, count, flags)
}
