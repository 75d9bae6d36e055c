// SPDX-License-Identifier: Apache-2.0

import Glibc

/// Counts open descriptors of this process.
enum Descriptors {
    /// The number of sockets with this local or remote IPv4 port.
    static func count(port: Int) -> Int {
        numbers.count { number in
            let isEnd = unsafe Self.port(of: number, getsockname) == port || Self.port(of: number, getpeername) == port
            return isEnd
        }
    }

    /// The number of `eventfd(2)` descriptors.
    static var eventCount: Int {
        numbers.count { number in
            var name = [CChar](repeating: 0, count: 64)
            let length = unsafe readlink("/proc/self/fd/\(number)", &name, name.count)
            return length > 0 && String(decoding: name[..<length].map(UInt8.init(bitPattern:)), as: UTF8.self).contains("eventfd")
        }
    }

    private static var numbers: [CInt] { (0..<4096).filter { fcntl($0, F_GETFD) >= 0 } }

    private typealias Lookup = (CInt, UnsafeMutablePointer<sockaddr>, UnsafeMutablePointer<socklen_t>) -> CInt

    private static func port(of number: CInt, _ lookUp: Lookup) -> Int? {
        var address = sockaddr_in()
        var length = socklen_t(MemoryLayout<sockaddr_in>.size)
        let status = unsafe withUnsafeMutablePointer(to: &address) { pointer in
            unsafe pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { unsafe lookUp(number, $0, &length) }
        }
        guard status == 0, address.sin_family == sa_family_t(AF_INET) else { return nil }
        return Int(UInt16(bigEndian: address.sin_port))
    }
}
