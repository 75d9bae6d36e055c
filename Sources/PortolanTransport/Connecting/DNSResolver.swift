// SPDX-License-Identifier: Apache-2.0

import PortolanCore
import Synchronization

#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#endif

/// Finds the addresses of hosts with a function that may take its time, on threads of its own: they come as they are needed, up to a limit,
/// and go when they have nothing to do. So a name server that does not answer holds up the loads that need it, and others only where as many names hang
/// at once. Any thread.
///
/// Who asks for a host that is being looked up shares the answer. A look-up that nobody waits for any more when its turn comes is left out;
/// one that has begun can't be stopped, and keeps its thread to its end: who asks then is not bound to it, and begins another.
package final class DNSResolver: Sendable {
    /// Gives addresses without a port, the best first.
    typealias LookUp = @Sendable (_ name: String) throws -> [SocketAddress]
    typealias Answer = Result<[SocketAddress], any Error>
    typealias Asker = @Sendable (Answer) -> Void

    struct Question: Sendable {
        fileprivate let name: String
        fileprivate let number: UInt64
    }

    /// A look-up, under way or about to be, and who waits for it.
    private struct Search {
        /// The question for which it was made.
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

        /// Whether somebody waits still; where nobody does, the next to ask is the first.
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

        /// Nobody who asks from now on shares a look-up that all others have given up.
        private mutating func leaveOut(_ name: String) {
            if let search = searches[name], search.hasBegun, search.askers.isEmpty { searches[name] = nil }
        }

        /// Who waits for the look-up that was made for a question.
        mutating func takeAskers(of first: Question) -> [Asker] {
            guard searches[first.name]?.first == first.number else { return [] }
            return searches.removeValue(forKey: first.name).map { Array($0.askers.values) } ?? []
        }
    }

    /// The system's, for every handler.
    static let shared = DNSResolver(lookUp: DNSResolver.systemAddresses)

    private let threads: LoadThreadPool
    private let lookUp: LookUp
    private let state = Mutex(State())

    /// - Parameters:
    ///   - limit: how many names are looked up at once.
    ///   - lookUp: gives addresses without a port, or throws; called on a thread that may wait.
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

    /// - Returns: whether the asker is let go of without a call.
    func withdraw(_ question: Question) -> Bool {
        state.withLock { $0.remove(question) }
    }

    private func answer(_ first: Question, _ answer: Answer) {
        for asker in state.withLock({ $0.takeAskers(of: first) }) { asker(answer) }
    }

    /// `localhost.` and names below `localhost` are looked up as `localhost`, which no name server is asked for (RFC 6761 §6.3): of which
    /// family its addresses are, the system knows.
    static func name(of host: String) -> String {
        let name = (host.last == "." ? host.dropLast() : host[...]).lowercased()
        return name == "localhost" || name.hasSuffix(".localhost") ? "localhost" : host
    }

    /// Asks the system's resolver: getaddrinfo(3).
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

/// What getaddrinfo(3) says.
struct NameError: Error, CustomStringConvertible {
    let status: CInt

    var description: String { unsafe gai_strerror(status).map { unsafe String(cString: $0) } ?? "error \(status)" }
}
