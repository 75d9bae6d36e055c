// SPDX-License-Identifier: Apache-2.0

extension URLParser {
    /// Parses a host and writes its serialised form.
    ///
    /// In a special scheme, the host is a domain or an IPv4 address. In another scheme, it is opaque. In brackets, it
    /// is an IPv6 address in every scheme.
    ///
    /// WHATWG URL §3.5
    mutating func parseHost(_ range: Range<Int>, of source: Span<UInt8>) throws(Failure) {
        if let first = range.first, source[first] == UInt8(ascii: "[") {
            guard source[range.upperBound - 1] == UInt8(ascii: "]") else { throw Failure(.ipv6Unclosed, at: range.upperBound) }
            let address = try IPv6Address(parsing: first + 1..<range.upperBound - 1, of: source)
            output.append(address, source: source)
        } else if isSpecial {
            try parseDomain(range, of: source)
        } else {
            try parseOpaqueHost(range, of: source)
        }
    }

    private mutating func parseOpaqueHost(_ range: Range<Int>, of source: Span<UInt8>) throws(Failure) {
        for offset in range {
            let byte = source[offset]
            if ByteSet.forbiddenInHost.contains(byte) { throw Failure(.hostInvalidCodePoint, at: offset) }
            if ByteSet.c0ControlSet.contains(byte) {
                output.append(percentEncoding: byte, source: source)
            } else {
                output.append(byte, source: source)
            }
        }
    }

    private mutating func parseDomain(_ range: Range<Int>, of source: Span<UInt8>) throws(Failure) {
        if range.contains(where: { ByteSet.mustBeConvertedInDomain.contains(source[$0]) }) {
            let domain = try DomainName.ascii(range, of: source)
            let bytes = domain.span
            if let address = try IPv4Address(domain: bytes, at: range.lowerBound) {
                output.append(address, source: source)
            } else {
                for byte in domain { output.append(byte, source: source) }
            }
        } else if let address = try IPv4Address(domain: source.extracting(range), at: range.lowerBound) {
            output.append(address, source: source)
        } else {
            output.append(range, of: source)
        }
    }
}
