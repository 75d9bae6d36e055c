// SPDX-License-Identifier: Apache-2.0

import CTally
import Glibc

/// A socket connected to 127.0.0.1: socket(2), connect(2).
final class RawSocket: Sendable {
    let descriptor: Int32

    init(port: UInt16) throws {
        descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue) | Int32(SOCK_CLOEXEC.rawValue), 0)
        guard descriptor >= 0 else { throw Self.failure("socket") }
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_port = port.bigEndian
        address.sin_addr.s_addr = UInt32(0x7F00_0001).bigEndian
        let status = unsafe withUnsafePointer(to: address) { address in
            unsafe address.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                unsafe connect(descriptor, $0, socklen_t(MemoryLayout<sockaddr_in>.size))
            }
        }
        guard status == 0 else { throw Self.failure("connect") }
        var on: Int32 = 1
        unsafe setsockopt(descriptor, Int32(IPPROTO_TCP), TCP_NODELAY, &on, socklen_t(MemoryLayout<Int32>.size))
    }

    deinit { close(descriptor) }

    static func failure(_ call: String) -> MeasurementError {
        unsafe MeasurementError("raw: \(call): \(String(cString: strerror(errno)))")
    }
}

/// An HTTP/1.1 connection of the raw loops, with or without TLS. It sends the same request repeatedly.
@safe
final class RawConnection: @unchecked Sendable {  // … because the runs of a competitor are sequential
    private enum Transport {
        case plain(RawSocket)
        case secure(RawTLS)
    }

    private let transport: Transport
    private let request: [UInt8]

    init(_ target: HTTPTarget) throws {
        let (port, path) = try target.portAndPath()
        request = Array("GET \(path) HTTP/1.1\r\nHost: 127.0.0.1:\(port)\r\nUser-Agent: raw\r\nAccept: */*\r\n\r\n".utf8)
        transport = target.security == nil ? .plain(try RawSocket(port: port)) : .secure(try RawTLS(target))
    }

    var descriptor: Int32 {
        switch transport {
        case .plain(let socket): socket.descriptor
        case .secure(let tls): tls.descriptor
        }
    }

    /// Makes a TLS connection non-blocking, so that epoll(7) can wait for several connections.
    func makeNonBlocking() throws {
        if case .secure(let tls) = transport { try tls.makeNonBlocking() }
    }

    /// Whether OpenSSL can have bytes in its buffer, which epoll(7) does not report.
    var canHaveBufferedBytes: Bool { if case .secure = transport { true } else { false } }

    func sendRequest() throws {
        try unsafe request.withUnsafeBytes { bytes in
            switch transport {
            case .plain(let socket):
                let count = unsafe send(socket.descriptor, bytes.baseAddress, bytes.count, Int32(MSG_NOSIGNAL))
                guard count == bytes.count else { throw RawSocket.failure("send") }
            case .secure(let tls): unsafe try tls.write(bytes)
            }
        }
    }

    /// Reads available bytes once. Over TLS, reads at most one record.
    ///
    /// - Returns: whether the response is complete; `nil` if no bytes are available.
    func read(_ response: inout RawResponse, into buffer: UnsafeMutableRawBufferPointer) throws -> Bool? {
        let count: Int
        switch transport {
        case .plain(let socket):
            count = unsafe recv(socket.descriptor, buffer.baseAddress, buffer.count, 0)
            guard count > 0 else { throw count == 0 ? MeasurementError("raw: nginx closed the connection") : RawSocket.failure("recv") }
        case .secure(let tls):
            count = unsafe try tls.read(into: buffer)
            guard count > 0 else { return nil }
        }
        return unsafe try response.consume(UnsafeRawBufferPointer(rebasing: buffer[..<count]))
    }
}
