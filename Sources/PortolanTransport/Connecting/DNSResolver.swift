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
    typealias Asker = @Sendable (Answer) -> Void

    struct Question: Sendable {
        fileprivate let name: String
        fileprivate let number: UInt64
    }

    /// A pending or running look-up, and its callers.
    private struct Search {
        /// The question that created the look-up.
        let first: UInt64
        var hasBegun = false
        var askers: [UInt64: Asker]
    }

    private struct State {
        var searches: [String: Search] = [:]
        var questionCount: UInt64 = 0

        mutating func add(_ asker: @escaping Asker, for name: String) -> (question: Question, isFirst: Bool) {
            questionCount += 1
            let isFirst = searches[name] == nil
            searches[name, default: Search(first: questionCount, askers: [:])].askers[questionCount] = asker
            return (Question(name: name, number: questionCount), isFirst)
        }

        /// Whether a caller still waits. If none does, the next caller creates a new look-up.
        mutating func begin(_ question: Question) -> Bool {
            guard searches[question.name]?.first == question.number else { return false }
            searches[question.name]?.hasBegun = true
            leaveOut(question.name)
            return searches[question.name] != nil
        }

        mutating func remove(_ question: Question) -> Bool {
            guard searches[question.name]?.askers.removeValue(forKey: question.number) != nil else { return false }
            leaveOut(question.name)
            return true
        }

        /// Later callers do not share a running look-up that all its callers have withdrawn from.
        private mutating func leaveOut(_ name: String) {
            if let search = searches[name], search.hasBegun, search.askers.isEmpty { searches[name] = nil }
        }

        /// Takes the callers of the look-up that a question created.
        mutating func takeAskers(of first: Question) -> [Asker] {
            guard searches[first.name]?.first == first.number else { return [] }
            return searches.removeValue(forKey: first.name).map { Array($0.askers.values) } ?? []
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

    /// - Parameter asker: called once, on any thread, unless the question is withdrawn.
    func find(_ host: String, _ asker: @escaping Asker) -> Question {
        let name = Self.name(of: host)
        let (question, isFirst) = state.withLock { $0.add(asker, for: name) }
        if isFirst {
            do throws(LoadError) {
                try threads.run { [self] in
                    if state.withLock({ $0.begin(question) }) { answer(question, Result { try lookUp(name) }) }
                }
            } catch {
                answer(question, .failure(error))
            }
        }
        return question
    }

    /// - Returns: whether the asker was removed before it was called.
    func withdraw(_ question: Question) -> Bool {
        state.withLock { $0.remove(question) }
    }

    private func answer(_ first: Question, _ answer: Answer) {
        for asker in state.withLock({ $0.takeAskers(of: first) }) { asker(answer) }
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
