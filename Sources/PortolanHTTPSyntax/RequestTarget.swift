// SPDX-License-Identifier: Apache-2.0

package import PortolanCore

/// The part of a request line between method and version.
///
/// RFC 9112 §3.2
package enum RequestTarget: Equatable {
    /// `/path?query`, for the server itself. An empty path is sent as `/`.
    case origin(path: Substring, query: Substring?)
    /// The whole URL without user information and fragment, for a forward proxy.
    case absolute(scheme: Substring, authority: String, path: Substring, query: Substring?)
    /// A target that the caller gives, such as `*` for OPTIONS (RFC 9112 §3.2.4).
    case verbatim(String)
    /// `host:port`, for CONNECT only. The port is always present (RFC 9110 §9.3.6).
    case authority(String)

    /// The target for a request to the origin.
    package static func originForm(of url: URLRecord) -> RequestTarget {
        .origin(path: url.path, query: url.query)
    }

    /// The target for a request to a forward proxy.
    package static func absoluteForm(of url: URLRecord) -> RequestTarget {
        .absolute(scheme: url.scheme, authority: hostField(of: url), path: url.path, query: url.query)
    }

    /// The value of Host: the host, and the port if it is not the scheme's default.
    ///
    /// RFC 9110 §7.2
    package static func hostField(of url: URLRecord) -> String {
        let host = url.host ?? ""
        return url.port.map { "\(host):\($0)" } ?? String(host)
    }

    /// The target as text in the request line.
    package var text: String {
        let bytes = [UInt8](capacity: byteCount) { output in write(to: &output) }
        return String(decoding: bytes, as: UTF8.self)
    }

    var byteCount: Int {
        switch self {
        case .origin(let path, let query): Self.byteCount(path, query)
        case .absolute(let scheme, let authority, let path, let query):
            scheme.utf8.count + 3 + authority.utf8.count + Self.byteCount(path, query)
        case .verbatim(let text): text.utf8.count
        case .authority(let authority): authority.utf8.count
        }
    }

    private static func byteCount(_ path: Substring, _ query: Substring?) -> Int {
        max(1, path.utf8.count) + (query.map { $0.utf8.count + 1 } ?? 0)
    }

    /// Whether every byte is visible ASCII, and the parts are unambiguous. A path is empty or begins with `/`, and has
    /// no `?`. An authority is not empty, and has no `/` and no `?`. Only a verbatim target can have a `#`.
    var isValid: Bool {
        switch self {
        case .origin(let path, let query): Self.isValid(path, query)
        case .absolute(let scheme, let authority, let path, let query):
            Self.areVisible(scheme.utf8.span) && Self.isAuthority(authority) && Self.isValid(path, query)
        case .verbatim(let text): !text.isEmpty && text.utf8.allSatisfy { $0 > 0x20 && $0 < 0x7F }
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
        case .verbatim(let text): output.append(text.utf8.span)
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
    /// Appends the octets. The span must have capacity for them.
    @inline(__always)
    mutating func append(_ octets: Span<UInt8>) {
        unsafe octets.withUnsafeBytes { unsafe append(contentsOf: $0) }
    }
}
