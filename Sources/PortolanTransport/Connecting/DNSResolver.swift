// SPDX-License-Identifier: Apache-2.0

import PortolanCore
import Synchronization

#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#endif

/// Resolves host names with a function that may block, on its own threads. Threads are started on demand, up to a
/// limit, and end when they are idle. A name server that does not respond therefore delays the loads that need it. It
/// delays other loads only if as many look-ups hang as the limit allows. Any thread.
///
/// Callers that request the same host share the running look-up. A pending look-up without callers is skipped. A
/// look-up that has begun can't be stopped, and occupies its thread until it ends. If it has no callers any more, the
/// next caller does not share it, and begins another look-up.
package final class DNSResolver: Sendable {
    /// Returns addresses without a port, the best first.
    typealias LookUp = @Sendable (_ name: String) throws -> [SocketAddress]
    typealias Answer = Result<[SocketAddress], any Error>
    typealias Completion = @Sendable (Answer) -> Void

    struct Query: Sendable {
        fileprivate let name: String
        fileprivate let number: UInt64
    }

    /// A pending or running look-up, and its callers.
    private struct Search {
        /// The query that created the look-up.
        let first: UInt64
        var hasBegun = false
        var completions: [UInt64: Completion]
    }

    private struct State {
        var searches: [String: Search] = [:]
        var queryCount: UInt64 = 0

        mutating func add(_ completion: @escaping Completion, for name: String) -> (query: Query, isFirst: Bool) {
            queryCount += 1
            let isFirst = searches[name] == nil
            searches[name, default: Search(first: queryCount, completions: [:])].completions[queryCount] = completion
            return (Query(name: name, number: queryCount), isFirst)
        }

        /// Whether a caller still waits. If none does, the next caller creates a new look-up.
        mutating func begin(_ query: Query) -> Bool {
            guard searches[query.name]?.first == query.number else { return false }
            searches[query.name]?.hasBegun = true
            leaveOut(query.name)
            return searches[query.name] != nil
        }

        mutating func remove(_ query: Query) -> Bool {
            guard searches[query.name]?.completions.removeValue(forKey: query.number) != nil else { return false }
            leaveOut(query.name)
            return true
        }

        /// Later callers do not share a running look-up that all its callers have withdrawn from.
        private mutating func leaveOut(_ name: String) {
            if let search = searches[name], search.hasBegun, search.completions.isEmpty { searches[name] = nil }
        }

        /// Takes the callers of the look-up that a query created.
        mutating func takeCompletions(of first: Query) -> [Completion] {
            guard searches[first.name]?.first == first.number else { return [] }
            return searches.removeValue(forKey: first.name).map { Array($0.completions.values) } ?? []
        }
    }

    /// The system's resolver, which all handlers share.
    static let shared = DNSResolver(lookUp: DNSResolver.systemAddresses)

    private let threads: LoadThreadPool
    private let lookUp: LookUp
    private let state = Mutex(State())

    /// - Parameters:
    ///   - limit: the maximum number of simultaneous look-ups.
    ///   - lookUp: returns addresses without a port, or throws. Called on a thread that may block.
    init(limit: Int = 64, lookUp: @escaping LookUp) {
        threads = LoadThreadPool(limit: limit)
        self.lookUp = lookUp
    }

    /// - Parameter completion: called once, on any thread, unless the query is withdrawn.
    func find(_ host: String, _ completion: @escaping Completion) -> Query {
        let name = Self.name(of: host)
        let (query, isFirst) = state.withLock { $0.add(completion, for: name) }
        if isFirst {
            do throws(LoadError) {
                try threads.run { [self] in
                    if state.withLock({ $0.begin(query) }) { answer(query, Result { try lookUp(name) }) }
                }
            } catch {
                answer(query, .failure(error))
            }
        }
        return query
    }

    /// - Returns: whether the completion was removed before it was called.
    func withdraw(_ query: Query) -> Bool {
        state.withLock { $0.remove(query) }
    }

    private func answer(_ first: Query, _ answer: Answer) {
        for completion in state.withLock({ $0.takeCompletions(of: first) }) { completion(answer) }
    }

    /// `localhost.` and names below `localhost` are looked up as `localhost`. No name server is queried for it
    /// (RFC 6761 §6.3). The system knows the families of its addresses.
    static func name(of host: String) -> String {
        let name = (host.last == "." ? host.dropLast() : host[...]).lowercased()
        return name == "localhost" || name.hasSuffix(".localhost") ? "localhost" : host
    }

    /// Queries the system's resolver: getaddrinfo(3).
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
            if let own = unsafe info.pointee.ai_addr, let address = unsafe SocketAddress(own, port: 0) { addresses.append(address) }
            unsafe entry = info.pointee.ai_next
        }
        return addresses
    }
}

/// An error of getaddrinfo(3).
struct NameError: Error, CustomStringConvertible {
    let status: CInt

    var description: String { unsafe gai_strerror(status).map { unsafe String(cString: $0) } ?? "error \(status)" }
}
