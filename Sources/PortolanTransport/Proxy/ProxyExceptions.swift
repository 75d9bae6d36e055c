// SPDX-License-Identifier: Apache-2.0

import PortolanHTTPSyntax

/// The hosts that are loaded without a proxy, as in `no_proxy`.
///
/// Follows curl 7.88, which was run for each row of the tests, with two differences. First, curl ignores some entries
/// that can mean only one thing, and this type does not: `*` between blanks, a block of no bits (`0.0.0.0/0`, every
/// address of its family), blocks of IPv6, and an IPv6 address in brackets or not in its shortest form. Second, curl
/// takes `10.0.0.0/8x` for a block, which is no entry here.
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
            let all = address.bytes.count * 8
            guard parts.count == 2, !parts[1].isEmpty else { return .address(address, bits: all) }
            guard parts[1].utf8.allSatisfy(\.isDecimalDigit), let bits = Int(parts[1]), bits <= all else { return nil }
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
