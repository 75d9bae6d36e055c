// SPDX-License-Identifier: Apache-2.0

extension URLParser {
    /// Skips any number of slashes, then parses the authority.
    ///
    /// Special authority slashes and special authority ignore slashes states
    mutating func parseSpecialAuthority(_ source: Span<UInt8>) throws(Failure) {
        while isSlash(at: position, in: source) { position += 1 }
        try parseAuthority(source)
    }

    /// Parses user information, host and port, and everything after them.
    ///
    /// Authority, host and port states
    mutating func parseAuthority(_ source: Span<UInt8>) throws(Failure) {
        let start = position
        var end = start
        var lastAt: Int?
        while end < source.count, !isSlash(at: end, in: source), source[end] != UInt8(ascii: "?"), source[end] != UInt8(ascii: "#") {
            if source[end] == UInt8(ascii: "@") { lastAt = end }
            end += 1
        }
        beginAuthority(source)
        var hostStart = start
        if let lastAt {
            try parseUserinfo(start..<lastAt, of: source)
            hostStart = lastAt + 1
        }
        let hostEnd = endOfHost(in: source, range: hostStart..<end)
        // User information, a port and a special scheme each require a host.
        if hostStart == hostEnd, lastAt != nil || hostEnd < end || isSpecial { throw Failure(.hostMissing, at: hostStart) }
        try parseHost(hostStart..<hostEnd, of: source)
        layout.hostEnd = output.count
        if hostEnd < end { try parsePort(hostEnd + 1..<end, of: source) }
        position = end
        try parsePathStart(source)
    }

    /// Writes the two slashes before an authority, and records that no user information follows yet.
    mutating func beginAuthority(_ source: Span<UInt8>) {
        output.append(UInt8(ascii: "/"), source: source)
        output.append(UInt8(ascii: "/"), source: source)
        layout.usernameEnd = output.count
        layout.hostStart = output.count
    }

    private mutating func parseUserinfo(_ range: Range<Int>, of source: Span<UInt8>) throws(Failure) {
        let colon = range.first { source[$0] == UInt8(ascii: ":") } ?? range.upperBound
        try appendEncoded(range.lowerBound..<colon, of: source, rule: .userinfo)
        layout.usernameEnd = output.count
        if colon + 1 < range.upperBound {
            output.append(UInt8(ascii: ":"), source: source)
            try appendEncoded(colon + 1..<range.upperBound, of: source, rule: .userinfo)
        }
        if output.count > layout.hostStart { output.append(UInt8(ascii: "@"), source: source) }
        layout.hostStart = output.count
    }

    /// Finds the colon before the port, or the end of the range. Colons in brackets belong to an IPv6 address.
    private func endOfHost(in source: Span<UInt8>, range: Range<Int>) -> Int {
        var isInBrackets = false
        for offset in range {
            switch source[offset] {
            case UInt8(ascii: "["): isInBrackets = true
            case UInt8(ascii: "]"): isInBrackets = false
            case UInt8(ascii: ":") where !isInBrackets: return offset
            default: break
            }
        }
        return range.upperBound
    }

    private mutating func parsePort(_ range: Range<Int>, of source: Span<UInt8>) throws(Failure) {
        var port: UInt16 = 0
        for offset in range {
            guard source[offset].isASCIIDigit else { throw Failure(.portInvalid, at: offset) }
        }
        for offset in range {
            let (product, overflows) = port.multipliedReportingOverflow(by: 10)
            let (sum, overflowsAgain) = product.addingReportingOverflow(UInt16(source[offset] - 0x30))
            if overflows || overflowsAgain { throw Failure(.portOutOfRange, at: range.lowerBound) }
            port = sum
        }
        if range.isEmpty || port == layout.specialScheme?.defaultPort { return }

        layout.port = port
        output.append(UInt8(ascii: ":"), source: source)
        output.append(decimal: UInt32(port), source: source)
    }
}
