// SPDX-License-Identifier: Apache-2.0

import NIOCore
import NIOPosix

#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#endif

/// Finds the addresses of one host by the system's resolver, getaddrinfo(3), on a thread that may wait. For one use, on one event loop.
final class NameResolver: Resolver, Sendable {
    private let ipv4: EventLoopPromise<[SocketAddress]>
    private let ipv6: EventLoopPromise<[SocketAddress]>
    private let whenFound: @Sendable () -> Void

    /// - Parameter whenFound: called on the event loop where the host has an address.
    init(on eventLoop: any EventLoop, whenFound: @escaping @Sendable () -> Void) {
        ipv4 = eventLoop.makePromise()
        ipv6 = eventLoop.makePromise()
        self.whenFound = whenFound
    }

    // The AAAA query is the first to be asked for (NIOPosix, happy eyeballs), and asks for both.

    func initiateAAAAQuery(host: String, port: Int) -> EventLoopFuture<[SocketAddress]> {
        NIOThreadPool.singleton.submit { [self] state in
            guard case .active = state else { return answer(.failure(NameError(status: EAI_FAIL))) }
            answer(Self.look(up: host, port: port))
        }
        return ipv6.futureResult
    }

    func initiateAQuery(host: String, port: Int) -> EventLoopFuture<[SocketAddress]> { ipv4.futureResult }

    func cancelQueries() {}

    private func answer(_ result: Result<[SocketAddress], NameError>) {
        ipv6.futureResult.eventLoop.execute { [self] in
            switch result {
            case .success(let addresses):
                whenFound()
                ipv6.succeed(addresses.filter { $0.protocol == .inet6 })
                ipv4.succeed(addresses.filter { $0.protocol == .inet })
            case .failure(let error):
                ipv6.fail(error)
                ipv4.fail(error)
            }
        }
    }

    private static func look(up host: String, port: Int) -> Result<[SocketAddress], NameError> {
        var hints = unsafe addrinfo()
        unsafe hints.ai_socktype = CInt(SOCK_STREAM.rawValue)
        var list: UnsafeMutablePointer<addrinfo>?
        let status = unsafe getaddrinfo(host, String(port), &hints, &list)
        defer { if let list = unsafe list { unsafe freeaddrinfo(list) } }
        guard status == 0 else { return .failure(NameError(status: status)) }
        var addresses: [SocketAddress] = []
        var entry = unsafe list
        while let info = unsafe entry {
            switch unsafe info.pointee.ai_family {
            case AF_INET:
                unsafe info.pointee.ai_addr.withMemoryRebound(to: sockaddr_in.self, capacity: 1) {
                    addresses.append(SocketAddress(unsafe $0.pointee))
                }
            case AF_INET6:
                unsafe info.pointee.ai_addr.withMemoryRebound(to: sockaddr_in6.self, capacity: 1) {
                    addresses.append(SocketAddress(unsafe $0.pointee))
                }
            default: break
            }
            unsafe entry = info.pointee.ai_next
        }
        return .success(addresses)
    }
}

/// What getaddrinfo(3) says.
struct NameError: Error, CustomStringConvertible {
    let status: CInt

    var description: String { unsafe gai_strerror(status).map { unsafe String(cString: $0) } ?? "error \(status)" }
}
