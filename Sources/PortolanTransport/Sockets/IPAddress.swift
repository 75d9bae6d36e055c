// SPDX-License-Identifier: Apache-2.0

#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#endif

/// An IP address as 4 or 16 bytes, in network order.
struct IPAddress: Hashable, Sendable {
    let bytes: [UInt8]

    init(bytes: [UInt8]) {
        self.bytes = bytes
    }

    /// Parses an IPv4 or IPv6 address: inet_pton(3).
    init?(_ text: some StringProtocol) {
        let text = String(text)
        let isIPv6 = text.utf8.contains(UInt8(ascii: ":"))
        var bytes = [UInt8](repeating: 0, count: isIPv6 ? 16 : 4)
        let status = unsafe bytes.withUnsafeMutableBytes { unsafe inet_pton(isIPv6 ? AF_INET6 : AF_INET, text, $0.baseAddress) }
        guard status == 1 else { return nil }
        self.bytes = bytes
    }

    /// The text as written by RFC 5952 and inet_ntop(3), without brackets.
    var text: String {
        var text = [CChar](repeating: 0, count: 64)
        let isIPv6 = bytes.count == 16
        guard unsafe inet_ntop(isIPv6 ? AF_INET6 : AF_INET, bytes, &text, socklen_t(text.count)) != nil else { return "an address" }
        return String(decoding: text.prefix { $0 != 0 }.map { UInt8(bitPattern: $0) }, as: UTF8.self)
    }

    /// The IPv4 address, if this is an IPv4-mapped IPv6 address (RFC 4291 §2.5.5.2); otherwise this address.
    var unmapped: IPAddress {
        let prefix = [UInt8](repeating: 0, count: 10) + [0xFF, 0xFF]
        return bytes.count == 16 && bytes.starts(with: prefix) ? IPAddress(bytes: Array(bytes.suffix(4))) : self
    }

    /// Whether both addresses have the same family, and equal first bits. `bits` is the number of these bits.
    func hasPrefix(_ other: IPAddress, bits: Int) -> Bool {
        guard bytes.count == other.bytes.count, bits <= bytes.count * 8 else { return false }
        let wholeByteCount = bits / 8
        guard bytes.prefix(wholeByteCount) == other.bytes.prefix(wholeByteCount) else { return false }
        let remainingBits = bits % 8
        return remainingBits == 0 || (bytes[wholeByteCount] ^ other.bytes[wholeByteCount]) >> UInt8(8 - remainingBits) == 0
    }
}
