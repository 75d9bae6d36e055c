// SPDX-License-Identifier: Apache-2.0

public import FoundationEssentials
package import PortolanCore
package import PortolanURL
import Synchronization

/// The hosts that want secure connections only (HTTP Strict Transport Security), in memory. `StateFolder` has
/// a storage that also keeps them on disk.
///
/// A load of an `http:` URL of such a host is redirected to `https:` before anything is sent. Any thread. RFC 6797
public final class HSTSStorage: Sendable {
    /// A host that wants secure connections only.
    public struct Host: Hashable, Sendable {
        /// In lower case, without a dot at its end.
        public var name: String
        /// Whether it speaks for the hosts below it, too.
        public var includesSubdomains: Bool
        /// When its wish ends; `nil` for never.
        public var expiry: Date?

        public init(name: String, includesSubdomains: Bool = false, expiry: Date? = nil) {
            (self.name, self.includesSubdomains, self.expiry) = (name, includesSubdomains, expiry)
        }
    }

    /// How many hosts are kept. Over it, those that expire first are removed.
    private let limit: Int
    private let hosts: Mutex<[String: Host]>
    private let log: Log?
    private let store: (any AnyObject & Sendable)?

    /// The changes for a store on disk.
    package typealias Log = ChangeLog<String, Host>

    /// - Parameter limit: how many hosts are kept. Over it, those that expire first are removed.
    public init(limit: Int = 20_000) {
        (self.limit, log, store) = (limit, nil, nil)
        hosts = Mutex([:])
    }

    /// Makes a storage whose hosts are on disk.
    ///
    /// - Parameters:
    ///   - hosts: the hosts on disk.
    ///   - log: receives the changes.
    ///   - store: writes them, and stays open as long as the storage exists.
    package init(limit: Int = 20_000, stored hosts: [Host], log: Log, in store: any AnyObject & Sendable) {
        (self.limit, self.log, self.store) = (limit, log, store)
        self.hosts = Mutex(Dictionary(hosts.map { ($0.name, $0) }) { $1 })
    }

    /// The hosts that have not expired, by name.
    public var allHosts: [Host] {
        let now = Date()
        return hosts.withLock { hosts in hosts.values.filter { !$0.isExpired(at: now) }.sorted { $0.name < $1.name } }
    }

    /// Adds a host, for example of a list that was made in advance, or replaces it. Addresses are not added.
    public func set(_ host: Host) {
        guard let name = Self.canonical(host.name) else { return }
        var host = host
        host.name = name
        hosts.withLock { hosts in
            hosts[name] = host
            log?.record(.set(host), for: name)
            if hosts.count > limit { evict(from: &hosts) }
        }
        log?.notify()
    }

    public func remove(_ name: String) {
        guard let name = Self.canonical(name) else { return }
        hosts.withLock { hosts in
            if hosts.removeValue(forKey: name) != nil { log?.record(.removed, for: name) }
        }
        log?.notify()
    }

    public func removeAll() {
        hosts.withLock { hosts in
            if let log { for name in hosts.keys { log.record(.removed, for: name) } }
            hosts = [:]
        }
        log?.notify()
    }

    /// Applies what other processes have changed in the store, except for hosts with a newer change that waits to be
    /// written.
    package func apply(set changed: [Host], removed: Set<String>) {
        hosts.withLock { hosts in
            for name in removed where log?.hasChange(for: name) != true { hosts[name] = nil }
            for host in changed where log?.hasChange(for: host.name) != true { hosts[host.name] = host }
            if hosts.count > limit { evict(from: &hosts) }
        }
        log?.notify()
    }

    private func evict(from hosts: inout [String: Host]) {
        let order = hosts.values.sorted { ($0.expiry ?? .distantFuture) < ($1.expiry ?? .distantFuture) }
        for host in order.prefix(hosts.count - limit + limit / 20) {
            hosts[host.name] = nil
            log?.record(.removed, for: host.name)
        }
    }

    /// Notes the wish of a host in a response that came over a connection without a certificate error.
    ///
    /// RFC 6797 §8.1
    package func note(_ value: [UInt8], from url: URLRecord, now: Date) {
        guard url.scheme == "https", let field = StrictTransportSecurity(parsing: value),
            let name = url.host.flatMap({ Self.canonical($0) })
        else { return }
        if field.maxAge == 0 { return remove(name) }
        // A thousand years are never.
        let expiry = field.maxAge > 1000 * 366 * 86400 ? nil : now.addingTimeInterval(Double(field.maxAge))
        set(Host(name: name, includesSubdomains: field.includesSubdomains, expiry: expiry))
    }

    /// Returns the `https:` URL that must be loaded instead; `nil` if the URL may be loaded as it is.
    ///
    /// RFC 6797 §8.2, §8.3
    package func upgraded(_ url: URLRecord, now: Date) -> URLRecord? {
        guard !hosts.withLock({ $0.isEmpty }), url.scheme == "http", let host = url.host, let name = Self.canonical(host),
            isKnown(name, now)
        else { return nil }
        // The parser removes the port 443, and a URL of `http:` has no port 80.
        return try? URLRecord(parsing: "https:\(url.description.dropFirst(5))")  // a URL with another special scheme is valid
    }

    private func isKnown(_ name: String, _ now: Date) -> Bool {
        hosts.withLock { hosts in
            var rest = name[...]
            while true {
                if let host = hosts[String(rest)], !host.isExpired(at: now), host.includesSubdomains || rest.count == name.count {
                    return true
                }
                guard let dot = rest.firstIndex(of: ".") else { return false }
                rest = rest[rest.index(after: dot)...]
            }
        }
    }

    /// The name in lower case, without a dot at its end; `nil` for an address and an empty name.
    package static func canonical(_ name: some StringProtocol) -> String? {
        var name = name.lowercased()
        if name.hasSuffix(".") { name.removeLast() }
        guard !name.isEmpty, name.last != "]", name.split(separator: ".").last?.allSatisfy(\.isNumber) != true else { return nil }
        return name
    }
}

extension HSTSStorage.Host {
    fileprivate func isExpired(at now: Date) -> Bool { expiry.map { $0 <= now } ?? false }
}
