// SPDX-License-Identifier: Apache-2.0

import CPluginObservation
import PortolanCore

#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#endif

/// Observes which files and network addresses are used by the calling thread, and by every thread and process that it
/// starts after that. The system calls continue as usual. The observation lasts until the process ends.
///
/// The kernel reports the calls (`seccomp_unotify(2)`), so a plugin that makes them without the C library is seen, too,
/// and the plugin's signal handlers and signal masks do not matter.
@safe
final class CallObservation: @unchecked Sendable {  // … because one thread writes `uses`, with atomic counts
    private let uses: UnsafeMutablePointer<portolan_uses>
    private var readCount = 0

    /// - Throws: If the kernel or the container does not permit it.
    init() throws(CheckSkipped) {
        guard let uses = unsafe portolan_new_uses() else { throw CheckSkipped.resourceShortage("there is no memory for an observation") }
        unsafe self.uses = unsafe uses
        let listener = ConditionLock<Int32?>(nil)
        let isReady = ConditionLock(false)
        do throws(LoadError) {
            // Started before the observation, because the observer must not be observed.
            try PlatformThread.start { [self] in
                isReady.withLockBroadcasting { $0 = true }
                let listener = listener.wait { $0 }
                if listener >= 0 { unsafe portolan_observe(listener, self.uses) }
            }
        } catch {
            throw CheckSkipped.resourceShortage(error.message)
        }
        isReady.wait { $0 ? () : nil }
        let descriptor = portolan_begin_observation()
        let errorNumber = errno
        listener.withLockBroadcasting { $0 = descriptor }
        guard descriptor >= 0 else {
            throw CheckSkipped(
                "the kernel or the container does not let the runner observe system calls (seccomp_unotify(2), errno \(errorNumber))")
        }
    }

    /// The uses since the last call of this function, each only once.
    func newUses() -> [ResourceUse] {
        let count = min(Int(unsafe portolan_use_count(uses)), Int(PORTOLAN_USE_COUNT))
        guard readCount < count else { return [] }
        defer { readCount = count }
        return (readCount..<count).compactMap { unsafe ResourceUse(at: uses, $0) }
    }

    /// Whether there were uses that could not be recorded.
    var isIncomplete: Bool { unsafe portolan_lost_uses(uses) > 0 }
}

/// A file or an address that a plugin used.
enum ResourceUse: Hashable {
    enum FileAction: String {
        case read, written
        case changed = "created, changed, renamed or removed"
        case executed
    }

    enum NetworkAction: String {
        case connects = "connects to"
        case binds = "binds a socket to"
        case listens = "listens on"
        case sends = "sends to"
        case opens
    }

    /// The path is absolute; only the path of a socket can be relative, and begins with `./` then.
    case file(path: String, FileAction)
    /// The address is text, as in `127.0.0.1, port 80`. For ``NetworkAction/opens`` it is the kind of the socket.
    case network(address: String, NetworkAction)
    /// A call whose effect cannot be observed.
    case hidden

    /// `nil` for an address that belongs to no network and no file, such as the kernel's own (`netlink(7)`).
    fileprivate init?(at uses: UnsafePointer<portolan_uses>, _ index: Int) {
        guard let place = unsafe portolan_use_at(uses, UInt32(index)) else { return nil }
        let length = min(Int(unsafe place.pointee.length), Int(PORTOLAN_USE_SIZE))
        let bytes = unsafe Array(UnsafeRawBufferPointer(start: portolan_bytes_of_use(place), count: length))
        func network(_ action: NetworkAction) -> Self? { Self(socketAddress: bytes, action) }
        switch unsafe portolan_use_kind(rawValue: place.pointee.kind) {
        case PORTOLAN_USE_READ: self = .file(path: String(decoding: bytes, as: UTF8.self), .read)
        case PORTOLAN_USE_WRITE: self = .file(path: String(decoding: bytes, as: UTF8.self), .written)
        case PORTOLAN_USE_CHANGE: self = .file(path: String(decoding: bytes, as: UTF8.self), .changed)
        case PORTOLAN_USE_EXECUTE: self = .file(path: String(decoding: bytes, as: UTF8.self), .executed)
        case PORTOLAN_USE_CONNECT: if let use = network(.connects) { self = use } else { return nil }
        case PORTOLAN_USE_BIND: if let use = network(.binds) { self = use } else { return nil }
        case PORTOLAN_USE_SEND: if let use = network(.sends) { self = use } else { return nil }
        case PORTOLAN_USE_LISTEN: self = network(.listens) ?? .network(address: "a socket", .listens)
        case PORTOLAN_USE_SOCKET: self.init(socket: bytes)
        default: self = .hidden
        }
    }

    /// A socket with a path counts as a file, and one with an abstract name as network (`unix(7)`, network
    /// namespaces).
    ///
    /// - Parameter bytes: A socket address (`ip(7)`, `ipv6(7)`, `unix(7)`).
    init?(socketAddress bytes: [UInt8], _ action: NetworkAction) {
        guard bytes.count >= 2 else { return nil }
        let family = Int32(UInt16(bytes[0]) | UInt16(bytes[1]) << 8)
        let rest = bytes.dropFirst(2)
        func port() -> Int { rest.count < 2 ? 0 : Int(bytes[2]) << 8 | Int(bytes[3]) }
        switch family {
        // AF_UNSPEC ends a connection; netlink and the kernel's cryptography are no network.
        case Self.unspecified, Self.netlink, Self.cryptography: return nil
        case Self.local:
            guard let first = rest.first else { return nil }
            guard first != 0 else {
                self = .network(address: "the abstract socket '\(String(decoding: rest.dropFirst(), as: UTF8.self))'", action)
                return
            }
            let path = String(decoding: rest.prefix { $0 != 0 }, as: UTF8.self)
            self = .file(path: path.hasPrefix("/") ? path : "./" + path, action == .binds ? .changed : .written)
        case Self.version4:
            guard bytes.count >= 8 else { return nil }
            self = .network(address: "\(bytes[4..<8].map(String.init).joined(separator: ".")), port \(port())", action)
        case Self.version6:
            guard bytes.count >= 24 else { return nil }
            let groups = stride(from: 8, to: 24, by: 2).map { String(UInt16(bytes[$0]) << 8 | UInt16(bytes[$0 + 1]), radix: 16) }
            self = .network(address: "[\(groups.joined(separator: ":"))], port \(port())", action)
        default: self = .network(address: "an address of the family \(family)", action)
        }
    }

    /// A socket that can receive without an address.
    ///
    /// - Parameter bytes: `struct portolan_socket`.
    init(socket bytes: [UInt8]) {
        let numbers = stride(from: 0, to: bytes.count - 3, by: 4).map { start in
            bytes[start..<(start + 4)].reversed().reduce(Int32(0)) { $0 << 8 | Int32($1) }
        }
        let (family, protocolNumber) = (numbers.first ?? 0, numbers.last ?? 0)
        self = .network(
            address: family == Self.netlink
                ? "a netlink socket of the protocol \(protocolNumber)" : "a raw socket of the family \(family)", .opens)
    }

    // The numbers of address families, which are the same on all processors (`address_families(7)`).
    private static let (unspecified, local, version4, version6, netlink, cryptography): (Int32, Int32, Int32, Int32, Int32, Int32) =
        (0, 1, 2, 10, 16, 38)
}
