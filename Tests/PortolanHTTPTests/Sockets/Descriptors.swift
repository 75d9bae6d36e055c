// SPDX-License-Identifier: Apache-2.0

import Glibc

/// Counts open descriptors of this process.
enum Descriptors {
    /// The number of sockets with this local or remote IPv4 port.
    static func count(port: Int) -> Int {
        openDescriptors.count { descriptor in
            let usesPort = unsafe Self.port(of: descriptor, getsockname) == port || Self.port(of: descriptor, getpeername) == port
            return usesPort
        }
    }

    /// The number of `eventfd(2)` descriptors.
    static var eventCount: Int {
        openDescriptors.count { descriptor in
            var name = [CChar](repeating: 0, count: 64)
            let length = unsafe readlink("/proc/self/fd/\(descriptor)", &name, name.count)
            return length > 0 && String(decoding: name[..<length].map(UInt8.init(bitPattern:)), as: UTF8.self).contains("eventfd")
        }
    }

    private static var openDescriptors: [CInt] { (0..<4096).filter { fcntl($0, F_GETFD) >= 0 } }

    private typealias GetName = (CInt, UnsafeMutablePointer<sockaddr>, UnsafeMutablePointer<socklen_t>) -> CInt

    /// The local port (`getsockname`) or the remote port (`getpeername`) of an IPv4 socket.
    private static func port(of descriptor: CInt, _ getName: GetName) -> Int? {
        var address = sockaddr_in()
        var length = socklen_t(MemoryLayout<sockaddr_in>.size)
        let status = unsafe withUnsafeMutablePointer(to: &address) { pointer in
            unsafe pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { unsafe getName(descriptor, $0, &length) }
        }
        guard status == 0, address.sin_family == sa_family_t(AF_INET) else { return nil }
        return Int(UInt16(bigEndian: address.sin_port))
    }
}
