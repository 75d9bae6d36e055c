// SPDX-License-Identifier: Apache-2.0

#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#endif

/// An IP address and a port, as in `sockaddr_in` and `sockaddr_in6`.
///
/// An IPv6 address can have a zone (RFC 4007 §11), such as `eth0` in `fe80::1%eth0`.
struct SocketAddress: Hashable, Sendable {
    private enum Family: Hashable { case ipv4, ipv6 }

    let ip: IPAddress
    let port: Int
    /// The index of the network interface of an IPv6 address; 0 if the address has no zone.
    let zone: UInt32

    init(_ ip: IPAddress, port: Int, zone: UInt32 = 0) {
        (self.ip, self.port, self.zone) = (ip, port, zone)
    }

    /// - Returns: `nil` for an address of another family.
    init?(_ address: UnsafePointer<sockaddr>, port: Int) {
        switch unsafe CInt(address.pointee.sa_family) {
        case AF_INET:
            self = unsafe address.withMemoryRebound(to: sockaddr_in.self, capacity: 1) { address in
                var ip = unsafe address.pointee.sin_addr
                return SocketAddress(IPAddress(bytes: unsafe withUnsafeBytes(of: &ip) { unsafe Array($0) }), port: port)
            }
        case AF_INET6:
            self = unsafe address.withMemoryRebound(to: sockaddr_in6.self, capacity: 1) { address in
                var ip = unsafe address.pointee.sin6_addr
                return SocketAddress(
                    IPAddress(bytes: unsafe withUnsafeBytes(of: &ip) { unsafe Array($0) }), port: port,
                    zone: unsafe address.pointee.sin6_scope_id)
            }
        default: return nil
        }
    }

    var isIPv6: Bool { ip.bytes.count == 16 }
    /// For socket(2).
    var family: CInt { isIPv6 ? AF_INET6 : AF_INET }

    /// Calls `body` with the address in the form that connect(2) takes. `body` borrows it.
    func withSystemAddress<Value>(_ body: (UnsafePointer<sockaddr>, socklen_t) -> Value) -> Value {
        let port = in_port_t(truncatingIfNeeded: port).bigEndian
        if isIPv6 {
            var address = sockaddr_in6()
            address.sin6_family = sa_family_t(AF_INET6)
            address.sin6_port = port
            address.sin6_scope_id = zone
            unsafe withUnsafeMutableBytes(of: &address.sin6_addr) { unsafe $0.copyBytes(from: ip.bytes) }
            return unsafe withUnsafePointer(to: address) { address in
                unsafe address.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                    unsafe body($0, socklen_t(MemoryLayout<sockaddr_in6>.size))
                }
            }
        }
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_port = port
        unsafe withUnsafeMutableBytes(of: &address.sin_addr) { unsafe $0.copyBytes(from: ip.bytes) }
        return unsafe withUnsafePointer(to: address) { address in
            unsafe address.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                unsafe body($0, socklen_t(MemoryLayout<sockaddr_in>.size))
            }
        }
    }
}

extension SocketAddress: CustomStringConvertible {
    /// As in a URL: `127.0.0.1:80`, `[::1]:80`.
    var description: String { isIPv6 ? "[\(ip.text)]:\(port)" : "\(ip.text):\(port)" }
}
