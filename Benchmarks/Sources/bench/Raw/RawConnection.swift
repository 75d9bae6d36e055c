// SPDX-License-Identifier: Apache-2.0

import CTally
import Glibc

/// A connection of the raw loops: socket(2), connect(2), and the same request sent again and again from memory.
@safe
final class RawConnection: @unchecked Sendable {  // … because a contender's runs come one after the other
    let descriptor: Int32
    private let request: [UInt8]

    init(_ target: HTTPTarget) throws {
        let (port, path) = try target.parts()
        request = Array("GET \(path) HTTP/1.1\r\nHost: 127.0.0.1:\(port)\r\nUser-Agent: raw\r\nAccept: */*\r\n\r\n".utf8)
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

    func ask() throws {
        let count = unsafe request.withUnsafeBytes { unsafe send(descriptor, $0.baseAddress, $0.count, Int32(MSG_NOSIGNAL)) }
        guard count == request.count else { throw Self.failure("send") }
    }

    /// Reads what there is, once.
    ///
    /// - Returns: whether the answer is complete.
    func read(_ answer: inout RawAnswer, into buffer: UnsafeMutableRawBufferPointer) throws -> Bool {
        let count = unsafe recv(descriptor, buffer.baseAddress, buffer.count, 0)
        guard count > 0 else { throw count == 0 ? Missing("raw: nginx closed the connection") : Self.failure("recv") }
        return unsafe try answer.take(UnsafeRawBufferPointer(rebasing: buffer[..<count]))
    }

    static func failure(_ call: String) -> Missing {
        unsafe Missing("raw: \(call): \(String(cString: strerror(errno)))")
    }
}
