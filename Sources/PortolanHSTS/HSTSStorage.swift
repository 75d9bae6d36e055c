// SPDX-License-Identifier: Apache-2.0

public import FoundationEssentials
import PortolanCookies
package import PortolanCore
package import PortolanURL
import Synchronization

/// The hosts that must be loaded over HTTPS only (HTTP Strict Transport Security), in memory. `StateFolder` has
/// a storage that also keeps them on disk.
///
/// A load of an `http:` URL of such a host is redirected to `https:` before anything is sent. Can be used on any
/// thread. RFC 6797
public final class HSTSStorage: Sendable {
    /// A host that must be loaded over HTTPS only.
    public struct Host: Hashable, Sendable {
        /// In lower case, without a dot at its end.
        public var name: String
        /// Whether its subdomains must also be loaded over HTTPS only.
        public var includesSubdomains: Bool
        /// When the entry expires; `nil` for never.
        public var expiry: Date?

        public init(name: String, includesSubdomains: Bool = false, expiry: Date? = nil) {
            (self.name, self.includesSubdomains, self.expiry) = (name, includesSubdomains, expiry)
        }
    }

    /// The changes for a store on disk.
    package typealias Log = ChangeLog<String, Host>

    private struct State {
        let log: Log?
        var hosts: [String: Host] = [:]
        /// The hosts that were added because of a response, by registrable domain.
        var learnedNames: [String: Set<String>] = [:]

        mutating func addLearnedName(_ name: String) {
            learnedNames[HSTSStorage.registrableDomain(of: name), default: []].insert(name)
        }

        mutating func remove(_ name: String) {
            guard hosts.removeValue(forKey: name) != nil else { return }
            log?.record(.removed, for: name)
            removeLearnedName(name)
        }

        /// Removes a host from ``learnedNames``.
        mutating func removeLearnedName(_ name: String) {
            guard !learnedNames.isEmpty else { return }
            let domain = HSTSStorage.registrableDomain(of: name)
            learnedNames[domain]?.remove(name)
            if learnedNames[domain]?.isEmpty == true { learnedNames[domain] = nil }
        }

        /// Removes those of the named hosts that expire first, until `count` of them are left.
        mutating func evict(from names: some Collection<String>, downTo count: Int) {
            let order = names.compactMap { hosts[$0] }.sorted { ($0.expiry ?? .distantFuture) < ($1.expiry ?? .distantFuture) }
            for host in order.prefix(max(0, order.count - count)) { remove(host.name) }
        }
    }

    private let limit: Int
    private let domainLimit: Int
    private let state: Mutex<State>
    private let log: Log?
    private let store: (any AnyObject & Sendable)?

    /// - Parameters:
    ///   - limit: the maximum number of hosts. If there are more, the hosts that expire first are removed.
    ///   - domainLimit: the maximum number of hosts of one registrable domain, such as `example.co.uk`, that are added
    ///     because of responses. Without this limit, a domain could remove all other hosts by means of many names.
    public init(limit: Int = 20_000, domainLimit: Int = 1000) {
        (self.limit, self.domainLimit, log, store) = (limit, domainLimit, nil, nil)
        state = Mutex(State(log: nil))
    }

    /// Makes a storage whose hosts are on disk. They count as hosts that were added because of responses.
    ///
    /// - Parameters:
    ///   - hosts: the hosts on disk.
    ///   - log: receives the changes.
    ///   - store: writes the changes, and stays open as long as the storage exists.
    package init(limit: Int = 20_000, domainLimit: Int = 1000, stored hosts: [Host], log: Log, in store: any AnyObject & Sendable) {
        (self.limit, self.domainLimit, self.log, self.store) = (limit, domainLimit, log, store)
        var state = State(log: log)
        for host in hosts {
            state.hosts[host.name] = host
            state.addLearnedName(host.name)
        }
        self.state = Mutex(state)
    }

    /// The hosts that have not expired, sorted by name.
    public var allHosts: [Host] {
        let now = Date()
        return state.withLock { state in state.hosts.values.filter { !$0.isExpired(at: now) }.sorted { $0.name < $1.name } }
    }

    /// Adds a host, for example from a preload list, or replaces it. Addresses are not added.
    public func set(_ host: Host) {
        guard let name = Self.canonicalName(host.name) else { return }
        var host = host
        host.name = name
        state.withLock { set(host, in: &$0) }
        log?.notify()
    }

    private func set(_ host: Host, in state: inout State) {
        state.hosts[host.name] = host
        log?.record(.set(host), for: host.name)
        evict(from: &state)
    }

    private func evict(from state: inout State) {
        // Removes a twentieth more than necessary, so that a flood does not sort all hosts for each new one.
        if state.hosts.count > limit { state.evict(from: Array(state.hosts.keys), downTo: limit - limit / 20) }
    }

    public func remove(_ name: String) {
        guard let name = Self.canonicalName(name) else { return }
        state.withLock { $0.remove(name) }
        log?.notify()
    }

    public func removeAll() {
        state.withLock { state in
            if let log { for name in state.hosts.keys { log.record(.removed, for: name) } }
            state = State(log: log)
        }
        log?.notify()
    }

    /// Applies changes that other processes made in the store, except for a host with a newer change that is not
    /// written yet.
    package func apply(set changedHosts: [Host], removed: Set<String>) {
        state.withLock { state in
            for name in removed where log?.hasChange(for: name) != true {
                state.hosts[name] = nil
                state.removeLearnedName(name)
            }
            for host in changedHosts where log?.hasChange(for: host.name) != true {
                state.hosts[host.name] = host
                state.addLearnedName(host.name)
            }
            evict(from: &state)
        }
        log?.notify()
    }

    /// Adds or removes a host because of a response that came over a connection without a certificate error.
    ///
    /// - Returns: what was stored or removed, for the log; `nil` if the field has no effect.
    ///
    /// RFC 6797 §8.1
    @discardableResult
    package func updateHost(_ value: [UInt8], from url: URLRecord, now: Date) -> String? {
        guard url.scheme == "https", let field = StrictTransportSecurity(parsing: value),
            let name = url.host.flatMap({ Self.canonicalName($0) })
        else { return nil }
        if field.maxAge == 0 {
            remove(name)
            return "HSTS host removed: \(name)"
        }
        // An expiry after more than a thousand years counts as never.
        let expiry = field.maxAge > 1000 * 366 * 86400 ? nil : now.addingTimeInterval(Double(field.maxAge))
        let domain = Self.registrableDomain(of: name)
        state.withLock { state in
            if state.hosts[name] == nil {
                let names = state.learnedNames[domain, default: []]
                if names.count >= domainLimit { state.evict(from: names, downTo: domainLimit - 1 - domainLimit / 20) }
                state.addLearnedName(name)
            }
            set(Host(name: name, includesSubdomains: field.includesSubdomains, expiry: expiry), in: &state)
        }
        log?.notify()
        return "HSTS host stored: \(name)\(field.includesSubdomains ? " and its subdomains" : "")"
    }

    /// Returns the `https:` URL that must be loaded instead; `nil` if the URL may be loaded as it is.
    ///
    /// RFC 6797 §8.2, §8.3
    package func upgraded(_ url: URLRecord, now: Date) -> URLRecord? {
        guard !state.withLock({ $0.hosts.isEmpty }), url.scheme == "http", let host = url.host, let name = Self.canonicalName(host),
            requiresHTTPS(name, now)
        else { return nil }
        // The parser removes port 443 from the `https:` URL, and the record of the `http:` URL contains no port 80.
        return try? URLRecord(parsing: "https:\(url.string.dropFirst(5))")  // valid, because both schemes are special
    }

    /// Whether the host must be loaded over HTTPS only, because it, or a host above it that includes its subdomains, is
    /// stored.
    private func requiresHTTPS(_ name: String, _ now: Date) -> Bool {
        state.withLock { state in
            var rest = name[...]
            while true {
                if let host = state.hosts[String(rest)], !host.isExpired(at: now), host.includesSubdomains || rest.count == name.count {
                    return true
                }
                guard let dot = rest.firstIndex(of: ".") else { return false }
                rest = rest[rest.index(after: dot)...]
            }
        }
    }

    /// The name in lower case, without a dot at its end; `nil` for an IP address, for an empty name, and for a name
    /// that is not ASCII, because no host of a URL has such a name.
    package static func canonicalName(_ name: some StringProtocol) -> String? {
        guard name.utf8.allSatisfy({ $0 < 0x80 }) else { return nil }
        var name = name.lowercased()
        if name.hasSuffix(".") { name.removeLast() }
        guard !name.isEmpty, name.last != "]", name.split(separator: ".").last?.allSatisfy(\.isNumber) != true else { return nil }
        return name
    }

    /// The registrable domain of a host, or the host if it has none.
    private static func registrableDomain(of name: String) -> String { PublicSuffixList.registrableDomain(of: name) ?? name }
}

extension HSTSStorage.Host {
    fileprivate func isExpired(at now: Date) -> Bool { expiry.map { $0 <= now } ?? false }
}
