// SPDX-License-Identifier: Apache-2.0

public import PortolanCore

/// Replaces the host and port of the URL as the destination of connections, and the addresses that DNS has for a host.
///
/// Only the connections change: TLS still checks the name of the URL's host, and `Host`, cookies, credentials and HSTS
/// still use it. For tests of a server that is not yet in DNS, for example:
///
///     var configuration = HTTPConfiguration()
///     try configuration.connectionOverrides.resolve("example.org", port: 443, to: ["192.0.2.7"])
public struct ConnectionOverrides: Hashable, Sendable {
    /// Which addresses of DNS are used.
    public enum AddressFamily: Hashable, Sendable {
        case any
        case ipv4
        case ipv6

        func allows(_ address: IPAddress) -> Bool {
            switch self {
            case .any: true
            case .ipv4: address.bytes.count == 4
            case .ipv6: address.bytes.count == 16
            }
        }
    }

    /// A host, without brackets, and a port. In a condition, `nil` matches any; in a destination, it means no change.
    package struct Target: Hashable, Sendable {
        package var host: String?
        package var port: Int?

        package init(host: String?, port: Int?) { (self.host, self.port) = (host, port) }

        fileprivate func matches(_ host: String, _ port: Int) -> Bool {
            (self.host == nil || self.host == host) && (self.port == nil || self.port == port)
        }
    }

    private struct Resolution: Hashable {
        let target: Target
        let addresses: [IPAddress]
    }

    private struct Connection: Hashable {
        let source: Target
        let target: Target
    }

    /// The family of the addresses that connections use. Addresses in URLs and in these overrides are always used.
    public var addressFamily = AddressFamily.any
    private var resolutions: [Resolution] = []
    private var connections: [Connection] = []

    public init() {}

    /// Uses these addresses for a host instead of those of DNS, also if the host is that of a proxy.
    ///
    /// A later call for the same host and port replaces an earlier one. An entry for the host has precedence over one
    /// for any host.
    ///
    /// - Parameters:
    ///   - host: the name or the address in the URL; `nil` for every host.
    ///   - port: the port in the URL, or the default port of its scheme; `nil` for every port.
    ///   - addresses: IPv4 and IPv6 addresses, IPv6 with or without brackets.
    /// - Throws: `LoadError.Code.badRequest` if a text is no address, or if there is none.
    public mutating func resolve(_ host: String?, port: Int?, to addresses: [String]) throws(LoadError) {
        var parsed: [IPAddress] = []
        for text in addresses {
            guard let address = IPAddress(Self.withoutBrackets(text)) else {
                throw LoadError(.badRequest, message: "'\(text)' is not an IP address; write one as 192.0.2.7 or 2001:db8::7")
            }
            parsed.append(address)
        }
        guard !parsed.isEmpty else { throw LoadError(.badRequest, message: "there is no address for the host; give one") }
        let target = Target(host: host.map(Self.canonical), port: port)
        resolutions.removeAll { $0.target == target }
        resolutions.append(Resolution(target: target, addresses: parsed))
    }

    /// Connects to another host and port than those of the URL. A proxy is asked for a tunnel to them.
    ///
    /// The first entry that matches a URL is used.
    ///
    /// - Parameters:
    ///   - host: the host in the URL; `nil` for every host.
    ///   - port: the port in the URL, or the default port of its scheme; `nil` for every port.
    ///   - otherHost: a name or an address; `nil` for the host of the URL.
    ///   - otherPort: `nil` for the port of the URL.
    public mutating func connect(_ host: String?, port: Int?, to otherHost: String?, port otherPort: Int?) {
        connections.append(
            Connection(
                source: Target(host: host.map(Self.canonical), port: port),
                target: Target(host: otherHost.map(Self.canonical), port: otherPort)))
    }

    /// The addresses that replace those of DNS for a host; `nil` if none do.
    func addresses(host: String, port: Int) -> [IPAddress]? {
        guard !resolutions.isEmpty else { return nil }
        let matches = resolutions.filter { $0.target.matches(Self.withoutBrackets(host).lowercased(), port) }
        return (matches.last { $0.target.host != nil } ?? matches.last)?.addresses
    }

    /// The destination that replaces a host and port; `nil` if none does.
    func target(host: String, port: Int) -> Target? {
        guard !connections.isEmpty else { return nil }
        return connections.first { $0.source.matches(Self.withoutBrackets(host).lowercased(), port) }?.target
    }

    /// Returns the form that the host has in a URL: an IPv6 address in its shortest form, an international name in
    /// ASCII. A text that is no host is only changed to lower case, and matches nothing.
    private static func canonical(_ host: String) -> String {
        let text = withoutBrackets(host)
        guard !text.utf8.contains(where: { "/?#@\\".utf8.contains($0) }),
            let url = try? URLRecord(parsing: "http://\(text.utf8.contains(UInt8(ascii: ":")) ? "[\(text)]" : text)/")
        else { return text.lowercased() }
        return withoutBrackets(String(url.host ?? ""))
    }

    private static func withoutBrackets(_ text: String) -> String {
        text.hasPrefix("[") && text.hasSuffix("]") ? String(text.dropFirst().dropLast()) : text
    }
}
