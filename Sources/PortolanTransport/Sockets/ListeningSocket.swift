// SPDX-License-Identifier: Apache-2.0

import CPortolanLinux
package import PortolanCore
import Synchronization

#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#endif

/// A socket that accepts connections: listen(2), accept(2). Any thread can call it, one call at a time.
package final class ListeningSocket: Sendable {
    /// The result of ``accept(whenReady:)``.
    package enum Acceptance {
        case accepted(AcceptedSocket)
        /// No connection waits.
        case wait
        case failed(LoadError)
    }

    private let descriptor: CInt
    private let loop: SocketEventLoop
    private let watch: DescriptorWatch
    private let isClosed = Atomic(false)
    /// The file of a UNIX socket, which is removed when the socket is closed.
    private let file: SocketFile?
    /// The port on which the socket listens; `nil` for a UNIX socket.
    package let port: Int?
    /// The name of the socket in a message.
    private let name: String

    /// How many connections wait in the system until they are accepted.
    private static let backlog = SOMAXCONN
    /// How long to wait when the process or the system has too many open files.
    private static let shortageTime = Duration.milliseconds(50)

    /// Listens on a TCP port.
    ///
    /// - Parameters:
    ///   - address: an IP address of this machine: `127.0.0.1` or `::1` for programs on the same machine only,
    ///     `0.0.0.0` or `::` for all interfaces. `::` also accepts IPv4.
    ///   - port: 0 for a free one.
    /// - Throws: ``LoadError/Code/badURL`` for a wrong address or port, ``LoadError/Code/accessDenied``,
    ///   ``LoadError/Code/noResources``, ``LoadError/Code/cannotConnect`` if the port is in use
    package convenience init(address: String, port: Int) throws(LoadError) {
        guard 0...65535 ~= port else { throw LoadError(.badURL, message: "port \(port) is not in 0 to 65535") }
        guard !address.utf8.contains(0), let ip = IPAddress(address) else {
            throw LoadError(.badURL, message: "'\(DisplayText.line(address))' is not an IP address; write 127.0.0.1 or ::1")
        }
        let name = "\(address) port \(port)"
        let socketAddress = SocketAddress(ip, port: port)
        guard let socket = Socket.make(socketAddress.family) else { throw Self.error(name, errno) }
        var on: CInt = 1
        unsafe setsockopt(socket.descriptor, SOL_SOCKET, SO_REUSEADDR, &on, socklen_t(MemoryLayout<CInt>.size))
        if socketAddress.isIPv6 {
            // The system's default can be otherwise: ipv6(7).
            var off: CInt = 0
            unsafe setsockopt(socket.descriptor, CInt(IPPROTO_IPV6), IPV6_V6ONLY, &off, socklen_t(MemoryLayout<CInt>.size))
        }
        let status = unsafe socketAddress.withSystemAddress { unsafe bind(socket.descriptor, $0, $1) }
        guard status == 0, listen(socket.descriptor, CInt(Self.backlog)) == 0 else { throw Self.error(name, errno) }
        try self.init(socket.release(), name, port: Socket.localAddress(of: socket.descriptor)?.port ?? port, file: nil)
    }

    /// Listens on a UNIX socket (unix(7)). The path must not exist; ``close()`` removes it.
    ///
    /// - Throws: as ``init(address:port:)``, and ``LoadError/Code/badURL`` for a path of over 107 bytes
    package convenience init(path: String) throws(LoadError) {
        let name = "'\(DisplayText.line(path))'"
        let address = try UNIXSocketAddress(path)
        guard let socket = Socket.make(AF_UNIX) else { throw Self.error(name, errno) }
        let status = unsafe address.withSystemAddress { unsafe bind(socket.descriptor, $0, $1) }
        guard status == 0 else { throw Self.error(name, errno) }
        let file = SocketFile(path)
        guard listen(socket.descriptor, CInt(Self.backlog)) == 0 else {
            file?.remove()
            throw Self.error(name, errno)
        }
        try self.init(socket.release(), name, port: nil, file: file)
    }

    private init(_ descriptor: CInt, _ name: String, port: Int?, file: SocketFile?) throws(LoadError) {
        (self.descriptor, self.name, self.port, self.file) = (descriptor, name, port, file)
        let loop: SocketEventLoop
        do throws(LoadError) { loop = try SocketEventLoop.next.get() } catch {
            systemClose(descriptor)
            throw error
        }
        self.loop = loop
        watch = DescriptorWatch(descriptor, isForWriting: false, on: loop)
    }

    deinit { close() }

    private static func error(_ name: String, _ number: CInt) -> LoadError {
        let (code, advice): (LoadError.Code, String) =
            switch number {
            case EADDRINUSE: (.cannotConnect, "; another program uses it, or the file of an earlier one is still there")
            case EACCES, EPERM: (.accessDenied, "")
            case EMFILE, ENFILE, ENOBUFS, ENOMEM: (.noResources, "")
            case EADDRNOTAVAIL: (.cannotConnect, "; it is no address of this machine")
            default: (.cannotConnect, "")
            }
        return LoadError(code, message: "can't listen on \(name): \(LoadError.text(of: number))\(advice)")
    }

    /// Accepts a connection without waiting.
    ///
    /// - Parameter whenReady: called once, on the event loop, after ``Acceptance/wait``, when the next call may return
    ///   something else.
    package func accept(whenReady: @escaping @Sendable () -> Void) -> Acceptance {
        while true {
            guard !isClosed.load(ordering: .acquiring) else { return .failed(closedError) }
            let accepted = portolan_accept_non_blocking(descriptor)
            if accepted >= 0 { return .accepted(AcceptedSocket(Socket(accepted), on: name)) }
            switch errno {
            case EAGAIN:
                watch.whenReady(whenReady)
                return .wait
            // The connection has ended before it was accepted: accept(2) lists the errors of the network.
            case EINTR, ECONNABORTED, EPROTO, ENOPROTOOPT, EHOSTDOWN, ENONET, EHOSTUNREACH, EOPNOTSUPP, ENETUNREACH, ENETDOWN, EPERM:
                continue
            case EMFILE, ENFILE, ENOBUFS, ENOMEM:
                let loop = loop
                loop.execute { _ = loop.schedule(after: Self.shortageTime, whenReady) }
                return .wait
            case let number: return .failed(Self.error(name, number))
            }
        }
    }

    /// Whether a connection waits, without accepting it.
    ///
    /// - Parameter whenReady: as for ``accept(whenReady:)``, if there is none.
    package func isReady(whenReady: @escaping @Sendable () -> Void) -> Bool {
        guard !isClosed.load(ordering: .acquiring) else { return true }
        var entry = pollfd(fd: descriptor, events: Int16(POLLIN), revents: 0)
        while true {
            let count = unsafe poll(&entry, 1, 0)
            if count > 0 { return true }
            guard count < 0, errno == EINTR else { break }
        }
        watch.whenReady(whenReady)
        return false
    }

    private var closedError: LoadError { LoadError(.cancelled, message: "the listener on \(name) is closed") }

    /// Ends listening. Connections that were not accepted are reset.
    package func close() {
        guard !isClosed.exchange(true, ordering: .acquiringAndReleasing) else { return }
        file?.remove()
        watch.end()
        systemClose(descriptor)
    }
}

/// A connection that was accepted, and that no event loop uses yet.
package struct AcceptedSocket: @unchecked Sendable {  // … because its owner passes it to one event loop
    let socket: Socket
    /// The address of the client; `nil` for a UNIX socket.
    let remoteAddress: SocketAddress?
    /// The name of the client in a message.
    let peerName: String

    init(_ socket: Socket, on listenerName: String) {
        self.socket = socket
        socket.sendImmediately()
        remoteAddress = Socket.remoteAddress(of: socket.descriptor)
        peerName = remoteAddress.map { "\($0.ip.unmapped.text) port \($0.port)" } ?? "a client of \(listenerName)"
    }

    /// The IP address of the client; `nil` for a UNIX socket. An IPv4 address has the form of IPv4, also if the socket
    /// is one for IPv6 (RFC 4291 §2.5.5.2).
    package var remoteHost: String? { remoteAddress?.ip.unmapped.text }
    package var remotePort: Int? { remoteAddress?.port }
}

/// The file of a UNIX socket.
private struct SocketFile: Sendable {
    private let path: String
    private let device: dev_t
    private let inode: ino_t

    init?(_ path: String) {
        guard let status = Self.status(path) else { return nil }
        (self.path, device, inode) = (path, status.st_dev, status.st_ino)
    }

    private static func status(_ path: String) -> stat? {
        var status = stat()
        return unsafe lstat(path, &status) == 0 ? status : nil
    }

    /// Removes the file, unless another one is there now.
    func remove() {
        guard let status = Self.status(path), status.st_dev == device, status.st_ino == inode else { return }
        unsafe unlink(path)
    }
}

/// The address of a UNIX socket (unix(7)).
package struct UNIXSocketAddress: Hashable, Sendable {
    package let path: String
    /// The maximum size of a path in bytes: `sun_path` less its NUL.
    static let maximumSize = 107

    /// - Throws: ``LoadError/Code/badURL`` for an empty path, a path with a NUL, or one of over 107 bytes
    package init(_ path: String) throws(LoadError) {
        guard !path.isEmpty, !path.utf8.contains(0), path.utf8.count <= Self.maximumSize else {
            throw LoadError(
                .badURL,
                message: "'\(DisplayText.line(path))' can't be the path of a UNIX socket; it has to have 1 to \(Self.maximumSize) bytes")
        }
        self.path = path
    }

    /// Calls `body` with the address in the form that bind(2) and connect(2) take. `body` borrows it.
    func withSystemAddress<Value>(_ body: (UnsafePointer<sockaddr>, socklen_t) -> Value) -> Value {
        var address = sockaddr_un()
        address.sun_family = sa_family_t(AF_UNIX)
        unsafe withUnsafeMutableBytes(of: &address.sun_path) { target in
            for (index, byte) in path.utf8.prefix(Self.maximumSize).enumerated() { unsafe target[index] = byte }
        }
        return unsafe withUnsafePointer(to: &address) { pointer in
            unsafe pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                unsafe body($0, socklen_t(MemoryLayout<sockaddr_un>.size))
            }
        }
    }
}

// This function is outside of the class, because inside it `close` means the class's method.
@discardableResult private func systemClose(_ descriptor: CInt) -> CInt { close(descriptor) }
