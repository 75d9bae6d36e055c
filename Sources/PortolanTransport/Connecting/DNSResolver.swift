// SPDX-License-Identifier: Apache-2.0

import PortolanCore
import Synchronization

#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#endif

/// Resolves host names on separate threads, because the system's function blocks. Threads are started on demand, up to
/// a limit, and end when they are idle. If a name server does not respond, only loads that need it are delayed, as long
/// as fewer look-ups than the limit wait for it. The methods can be called on any thread.
///
/// Callers that resolve the same host at the same time share one look-up. If all callers cancel, a pending look-up is
/// skipped. A running look-up can't be stopped, and uses its thread until it ends. If all its callers have
/// cancelled, the next caller does not share that look-up, but starts another one.
package final class DNSResolver: Sendable {
    /// Returns addresses with port 0, the best first.
    typealias LookUp = @Sendable (_ name: String) throws -> [SocketAddress]
    typealias LookUpResult = Result<[SocketAddress], any Error>
    typealias Completion = @Sendable (LookUpResult) -> Void

    struct Query: Sendable {
        fileprivate let name: String
        fileprivate let number: UInt64
    }

    /// A pending or running look-up, and the completions of its callers.
    private struct SharedLookUp {
        /// The number of the query that created the look-up.
        let firstQueryNumber: UInt64
        var hasBegun = false
        var completions: [UInt64: Completion]
    }

    private struct State {
        var lookUps: [String: SharedLookUp] = [:]
        var queryCount: UInt64 = 0

        mutating func add(_ completion: @escaping Completion, for name: String) -> (query: Query, isFirst: Bool) {
            queryCount += 1
            let isFirst = lookUps[name] == nil
            lookUps[name, default: SharedLookUp(firstQueryNumber: queryCount, completions: [:])]
                .completions[queryCount] = completion
            return (Query(name: name, number: queryCount), isFirst)
        }

        /// Marks the query's look-up as running.
        ///
        /// - Returns: whether a caller still waits for it. Otherwise the look-up is removed.
        mutating func begin(_ query: Query) -> Bool {
            guard lookUps[query.name]?.firstQueryNumber == query.number else { return false }
            lookUps[query.name]?.hasBegun = true
            removeIfAbandoned(query.name)
            return lookUps[query.name] != nil
        }

        /// - Returns: whether the query had not completed.
        mutating func remove(_ query: Query) -> Bool {
            guard lookUps[query.name]?.completions.removeValue(forKey: query.number) != nil else { return false }
            removeIfAbandoned(query.name)
            return true
        }

        /// Removes a running look-up if all its callers have cancelled, so that later callers do not share it.
        private mutating func removeIfAbandoned(_ name: String) {
            if let shared = lookUps[name], shared.hasBegun, shared.completions.isEmpty { lookUps[name] = nil }
        }

        /// Removes the look-up that a query created, and returns its completions.
        mutating func removeCompletions(of firstQuery: Query) -> [Completion] {
            guard lookUps[firstQuery.name]?.firstQueryNumber == firstQuery.number else { return [] }
            return lookUps.removeValue(forKey: firstQuery.name).map { Array($0.completions.values) } ?? []
        }
    }

    /// The resolver of the system. All handlers share it.
    static let shared = DNSResolver(lookUp: DNSResolver.systemAddresses)

    private let threads: LoadThreadPool
    private let lookUp: LookUp
    private let state = Mutex(State())

    /// - Parameters:
    ///   - limit: the maximum number of simultaneous look-ups.
    ///   - lookUp: returns addresses with port 0, or throws. It is called on a thread of this resolver, and can block.
    init(limit: Int = 64, lookUp: @escaping LookUp) {
        threads = LoadThreadPool(limit: limit)
        self.lookUp = lookUp
    }

    /// - Parameter completion: called once, on any thread, unless the query is cancelled.
    func resolve(_ host: String, _ completion: @escaping Completion) -> Query {
        let name = Self.name(of: host)
        let (query, isFirst) = state.withLock { $0.add(completion, for: name) }
        if isFirst {
            do throws(LoadError) {
                try threads.run { [self] in
                    if state.withLock({ $0.begin(query) }) { complete(query, with: Result { try lookUp(name) }) }
                }
            } catch {
                complete(query, with: .failure(error))
            }
        }
        return query
    }

    /// - Returns: whether the completion was removed before it was called.
    func cancel(_ query: Query) -> Bool {
        state.withLock { $0.remove(query) }
    }

    private func complete(_ firstQuery: Query, with result: LookUpResult) {
        for completion in state.withLock({ $0.removeCompletions(of: firstQuery) }) { completion(result) }
    }

    /// `localhost.` and names below `localhost` are resolved as `localhost`, without a name server (RFC 6761 §6.3). The
    /// system decides whether its address is IPv4 or IPv6.
    static func name(of host: String) -> String {
        let name = (host.last == "." ? host.dropLast() : host[...]).lowercased()
        return name == "localhost" || name.hasSuffix(".localhost") ? "localhost" : host
    }

    /// Calls getaddrinfo(3).
    private static func systemAddresses(of name: String) throws -> [SocketAddress] {
        var hints = unsafe addrinfo()
        unsafe hints.ai_socktype = CInt(SOCK_STREAM.rawValue)
        var list: UnsafeMutablePointer<addrinfo>?
        let status = unsafe getaddrinfo(name, nil, &hints, &list)
        defer { if let list = unsafe list { unsafe freeaddrinfo(list) } }
        guard status == 0 else { throw NameError(status: status) }
        var addresses: [SocketAddress] = []
        var entry = unsafe list
        while let info = unsafe entry {
            if let systemAddress = unsafe info.pointee.ai_addr, let address = unsafe SocketAddress(systemAddress, port: 0) {
                addresses.append(address)
            }
            unsafe entry = info.pointee.ai_next
        }
        return addresses
    }
}

/// An error of getaddrinfo(3).
struct NameError: Error, CustomStringConvertible {
    let status: CInt

    /// Whether no name server could be reached.
    var isTemporary: Bool { status == EAI_AGAIN }

    var description: String { unsafe gai_strerror(status).map { unsafe String(cString: $0) } ?? "error \(status)" }
}
