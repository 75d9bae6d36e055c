// SPDX-License-Identifier: Apache-2.0

package import PortolanCore

/// What stands between method and version in a request line.
///
/// RFC 9112 §3.2
package enum RequestTarget: Equatable {
    /// `/path?query`, to the server itself; an empty path is sent as `/`.
    case origin(path: Substring, query: Substring?)
    /// The whole URL, to a forward proxy: without user information and fragment.
    case absolute(scheme: Substring, authority: String, path: Substring, query: Substring?)
    /// `host:port`, for CONNECT only; the port always stands (RFC 9110 §9.3.6).
    case authority(String)

    /// To the server that the URL names.
    package static func origin(of url: URLRecord) -> RequestTarget {
        .origin(path: url.path, query: url.query)
    }

    /// Of the same resource, to a forward proxy.
    package static func absolute(of url: URLRecord) -> RequestTarget {
        .absolute(scheme: url.scheme, authority: hostField(of: url), path: url.path, query: url.query)
    }

    /// The value of Host: the host, and the port unless it is the scheme's own.
    ///
    /// RFC 9110 §7.2
    package static func hostField(of url: URLRecord) -> String {
        let host = url.host ?? ""
        return url.port.map { "\(host):\($0)" } ?? String(host)
    }

    var byteCount: Int {
        switch self {
        case .origin(let path, let query): Self.byteCount(path, query)
        case .absolute(let scheme, let authority, let path, let query):
            scheme.utf8.count + 3 + authority.utf8.count + Self.byteCount(path, query)
        case .authority(let authority): authority.utf8.count
        }
    }

    private static func byteCount(_ path: Substring, _ query: Substring?) -> Int {
        max(1, path.utf8.count) + (query.map { $0.utf8.count + 1 } ?? 0)
    }

    /// Whether every byte is visible ASCII, `#` apart, and the parts begin and end where they seem to.
    var isValid: Bool {
        switch self {
        case .origin(let path, let query): Self.isValid(path, query)
        case .absolute(let scheme, let authority, let path, let query):
            Self.areVisible(scheme.utf8.span) && Self.isAuthority(authority) && Self.isValid(path, query)
        case .authority(let authority): Self.isAuthority(authority)
        }
    }

    private static func isValid(_ path: Substring, _ query: Substring?) -> Bool {
        guard areVisible(path.utf8.span), path.isEmpty || path.utf8.first == UInt8(ascii: "/"), !path.utf8.contains(UInt8(ascii: "?"))
        else {
            return false
        }
        return query.map { areVisible($0.utf8.span) } ?? true
    }

    private static func isAuthority(_ text: String) -> Bool {
        !text.isEmpty && areVisible(text.utf8.span) && !text.utf8.contains { $0 == UInt8(ascii: "/") || $0 == UInt8(ascii: "?") }
    }

    private static func areVisible(_ octets: Span<UInt8>) -> Bool {
        for index in octets.indices where octets[index] <= 0x20 || octets[index] >= 0x7F || octets[index] == UInt8(ascii: "#") {
            return false
        }
        return true
    }

    func write(to output: inout OutputRawSpan) {
        switch self {
        case .origin(let path, let query): Self.write(path, query, to: &output)
        case .absolute(let scheme, let authority, let path, let query):
            output.append(scheme.utf8.span)
            output.append("://".utf8.span)
            output.append(authority.utf8.span)
            Self.write(path, query, to: &output)
        case .authority(let authority): output.append(authority.utf8.span)
        }
    }

    private static func write(_ path: Substring, _ query: Substring?, to output: inout OutputRawSpan) {
        if path.isEmpty { output.append(UInt8(ascii: "/")) } else { output.append(path.utf8.span) }
        guard let query else { return }
        output.append(UInt8(ascii: "?"))
        output.append(query.utf8.span)
    }
}

extension OutputRawSpan {
    /// Appends the octets, for which there must be room.
    @inline(__always)
    mutating func append(_ octets: Span<UInt8>) {
        unsafe octets.withUnsafeBytes { unsafe append(contentsOf: $0) }
    }
}
