// SPDX-License-Identifier: Apache-2.0

/// The Public Suffix List: the domains below which anybody may register names, such as `com`, `co.uk` and `github.io`.
///
/// The table is made by scripts/public-suffixes.py (`make update-psl`). Hosts are in lower case and in their `xn--`
/// form. One dot at the end of a host stays at the end of its domain. publicsuffix.org/list
package enum PublicSuffixList {
    /// Whether the host is a public suffix. A host of one label is a public suffix even if no rule names it.
    package static func isPublicSuffix(_ host: some StringProtocol) -> Bool {
        let labels = labels(of: host)
        return !host.isEmpty && suffixLength(labels) >= labels.count
    }

    /// The public suffix of the host and one label more; `nil` for a public suffix and for an address.
    package static func registrableDomain(of host: some StringProtocol) -> String? {
        guard !isAddress(host) else { return nil }
        let labels = labels(of: host)
        let length = suffixLength(labels) + 1
        guard labels.count >= length else { return nil }
        let domain = labels.suffix(length).map { String(decoding: $0, as: UTF8.self) }.joined(separator: ".")
        return host.hasSuffix(".") ? domain + "." : domain
    }

    /// Whether the host of a URL is an IPv6 address in brackets, or an IPv4 address. The host of a URL is an IPv4
    /// address if its last label is a number (WHATWG URL §3.5).
    package static func isAddress(_ host: some StringProtocol) -> Bool {
        // Whether the current label has digits, and whether it has other characters; and the last byte of the host.
        var (hasDigits, hasOthers, last): (Bool, Bool, UInt8) = (false, false, 0)
        for byte in host.utf8 {
            if byte == UInt8(ascii: ".") {
                (hasDigits, hasOthers) = (false, false)
            } else if byte &- 0x30 < 10 {
                hasDigits = true
            } else {
                hasOthers = true
            }
            last = byte
        }
        return last == UInt8(ascii: "]") || (hasDigits && !hasOthers)
    }

    private static func labels(of host: some StringProtocol) -> [[UInt8]] {
        var bytes = Array(host.utf8)
        if bytes.last == UInt8(ascii: ".") { bytes.removeLast() }
        return bytes.split(separator: UInt8(ascii: "."), omittingEmptySubsequences: false).map(Array.init)
    }

    /// The number of labels in the public suffix.
    private static func suffixLength(_ labels: [[UInt8]]) -> Int {
        var length = 1
        var key: [UInt8] = []
        for (count, label) in labels.reversed().enumerated() {
            key = label + (count == 0 ? [] : [UInt8(ascii: ".")] + key)
            guard let rule = PublicSuffixTable.rule(for: key) else { continue }
            if rule.contains(.exception) { return count }
            if rule.contains(.suffix) { length = max(length, count + 1) }
            if rule.contains(.wildcard), labels.count > count + 1 { length = max(length, count + 2) }
        }
        return length
    }
}

/// The rules of the list for one domain.
struct PublicSuffixRule: OptionSet {
    let rawValue: UInt8

    /// The domain is a public suffix.
    static let suffix = Self(rawValue: 1)
    /// Each domain directly below is a public suffix.
    static let wildcard = Self(rawValue: 2)
    /// The domain is not a public suffix, although a wildcard rule matches it.
    static let exception = Self(rawValue: 4)
}

extension PublicSuffixTable {
    /// Finds the line of a domain by binary search. A line is the domain, a tab, and the digit of its rule.
    static func rule(for domain: [UInt8]) -> PublicSuffixRule? {
        let text = unsafe UnsafeBufferPointer(start: lines.utf8Start, count: lines.utf8CodeUnitCount)
        var (low, high) = (0, text.count)
        while low < high {
            // The start of the line in the middle.
            var start = (low + high) / 2
            while unsafe start > low && text[start - 1] != UInt8(ascii: "\n") { start -= 1 }
            switch unsafe order(text, start, domain) {
            case .found(let digit): return PublicSuffixRule(rawValue: digit &- UInt8(ascii: "0"))
            case .before(let end): low = end
            case .after: high = start
            }
        }
        return nil
    }

    private enum Order {
        case found(UInt8)
        /// The line comes before the domain. The next line begins at this index.
        case before(Int)
        case after
    }

    private static func order(_ text: UnsafeBufferPointer<UInt8>, _ start: Int, _ domain: [UInt8]) -> Order {
        var index = 0
        while true {
            let byte = unsafe text[start + index]
            guard index < domain.count else {
                return byte == UInt8(ascii: "\t") ? .found(unsafe text[start + index + 1]) : .after
            }
            if byte != domain[index] {
                guard byte < domain[index] else { return .after }
                var end = start + index
                while unsafe text[end] != UInt8(ascii: "\n") { end += 1 }
                return .before(end + 1)
            }
            index += 1
        }
    }
}
