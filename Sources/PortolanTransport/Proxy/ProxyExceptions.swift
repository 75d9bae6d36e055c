// SPDX-License-Identifier: Apache-2.0

import PortolanHTTPSyntax

/// The hosts that are loaded without a proxy, as in `no_proxy`.
///
/// Compatible with curl 7.88 (the tests list its results), with two differences. First, curl ignores some entries that
/// this type accepts: `*` between blanks, `0.0.0.0/0`, blocks of IPv6 addresses, and IPv6 addresses in brackets or in a
/// long form. Second, curl reads `10.0.0.0/8x` as a block. This type ignores such an entry.
struct ProxyExceptions: Sendable {
    private enum Entry {
        case address(IPAddress, bits: Int)
        /// Lower case, without a dot at either end.
        case domain(String)
    }

    private let coversAll: Bool
    private let entries: [Entry]

    init(parsing text: String) {
        let items = text.split { $0 == "," || $0.isWhitespace }
        coversAll = items == ["*"]
        entries = items.compactMap { Self.entry($0) }
    }

    /// `nil` for an entry that can match no host.
    private static func entry(_ text: Substring) -> Entry? {
        let parts = text.split(separator: "/", maxSplits: 1, omittingEmptySubsequences: false)
        let isBracketed = parts[0].first == "[" && parts[0].last == "]"
        if let address = IPAddress(isBracketed ? parts[0].dropFirst().dropLast() : parts[0]) {
            let bitCount = address.bytes.count * 8
            guard parts.count == 2, !parts[1].isEmpty else { return .address(address, bits: bitCount) }
            guard parts[1].utf8.allSatisfy(\.isDecimalDigit), let bits = Int(parts[1]), bits <= bitCount else { return nil }
            return .address(address, bits: bits)
        }
        var name = text.lowercased()[...]
        if name.first == "." { name = name.dropFirst() }
        if name.last == "." { name = name.dropLast() }
        return name.isEmpty ? nil : .domain(String(name))
    }

    /// - Parameter host: the host as in a URL: lower case, ASCII, an IPv6 address in brackets.
    func contains(_ host: Substring) -> Bool {
        if coversAll { return true }
        guard !entries.isEmpty else { return false }
        if let address = IPAddress(host.first == "[" ? host.dropFirst().dropLast() : host) {
            return entries.contains { entry in
                if case .address(let block, let bits) = entry { address.hasPrefix(block, bits: bits) } else { false }
            }
        }
        let name = host.last == "." ? host.dropLast() : host
        return entries.contains { entry in
            guard case .domain(let domain) = entry else { return false }
            return name == domain || name.hasSuffix(domain) && name.dropLast(domain.count).last == "."
        }
    }
}
