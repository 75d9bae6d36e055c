// SPDX-License-Identifier: Apache-2.0

#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#endif

/// The name that the server's certificate must contain: the host of the URL. It is never the host of a proxy, or the
/// address that a name resolves to.
///
/// RFC 9110 §4.3.4, RFC 9525 §6
enum ServerName: Hashable, Sendable {
    /// In lower case, without the trailing dot of the root.
    case dns(String)
    /// 4 or 16 bytes.
    case address([UInt8])

    /// - Parameter host: the host as in a URL, without brackets.
    init(host: String) {
        if let bytes = Self.bytes(ofAddress: host) {
            self = .address(bytes)
        } else {
            let name = host.lowercased()
            self = .dns(name.hasSuffix(".") ? String(name.dropLast()) : name)
        }
    }

    /// The name for Server Name Indication (RFC 6066 §3). `nil` for addresses, and for names that are too long.
    var indication: String? {
        guard case .dns(let name) = self, (1...253).contains(name.utf8.count) else { return nil }
        return name
    }

    /// Whether the certificate's alternative names contain this name. The common name does not count (RFC 9525 §2).
    func isNamed(by certificate: ServerCertificate) -> Bool {
        switch self {
        case .address(let bytes): certificate.addresses.contains(bytes)
        case .dns(let name): certificate.dnsNames.contains { Self.matches(name, pattern: $0.lowercased()) }
        }
    }

    /// A wildcard matches exactly the first label. At least two labels must follow it, because `*.com` would match the
    /// hosts of all owners (RFC 9525 §6.3).
    private static func matches(_ name: String, pattern: String) -> Bool {
        guard pattern.hasPrefix("*.") else { return !name.isEmpty && name == pattern }
        let rest = pattern.dropFirst(2)
        let labels = rest.split(separator: ".", omittingEmptySubsequences: false)
        guard labels.count >= 2, !labels.contains(""), !rest.contains("*") else { return false }
        guard let dot = name.firstIndex(of: "."), dot != name.startIndex else { return false }
        return name[name.index(after: dot)...] == rest
    }

    private static func bytes(ofAddress host: String) -> [UInt8]? {
        var bytes = [UInt8](repeating: 0, count: 16)
        // inet_pton(3) reads the text only up to a NUL.
        guard !host.utf8.contains(0) else { return nil }
        if unsafe inet_pton(AF_INET, host, &bytes) == 1 { return Array(bytes.prefix(4)) }
        return unsafe inet_pton(AF_INET6, host, &bytes) == 1 ? bytes : nil
    }
}
