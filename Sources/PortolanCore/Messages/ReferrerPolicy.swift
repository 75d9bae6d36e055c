// SPDX-License-Identifier: Apache-2.0

import HTTPTypes

/// How much of a referrer URL a request after a redirect sends (W3C Referrer Policy §3).
enum ReferrerPolicy: String, Sendable {
    case noReferrer = "no-referrer"
    case noReferrerWhenDowngrade = "no-referrer-when-downgrade"
    case sameOrigin = "same-origin"
    case origin
    case strictOrigin = "strict-origin"
    case originWhenCrossOrigin = "origin-when-cross-origin"
    case strictOriginWhenCrossOrigin = "strict-origin-when-cross-origin"
    case unsafeURL = "unsafe-url"

    /// The longest referrer in bytes that is sent with its path.
    private static let lengthLimit = 4096

    /// The policy in the `Referrer-Policy` fields of a response: the last value that is known; `nil` if none is.
    ///
    /// Referrer Policy §8.1
    init?(in fields: HTTPFields) {
        guard let name = HTTPField.Name("Referrer-Policy") else { return nil }
        let tokens = fields.filter { $0.name == name }.flatMap { $0.value.split { $0 == "," || $0 == " " || $0 == "\t" } }
        guard let policy = tokens.compactMap({ Self(rawValue: $0.lowercased()) }).last else { return nil }
        self = policy
    }

    /// Returns the value of `Referer` in a request for `target`; `nil` for none.
    ///
    /// Referrer Policy §8.3
    func referrer(from source: URLRecord, to target: URLRecord) -> String? {
        guard let origin = source.strippedForReferrer(toOrigin: true), var url = source.strippedForReferrer(toOrigin: false) else {
            return nil
        }
        if url.utf8.count > Self.lengthLimit { url = origin }
        let isSameOrigin = source.hasSameOrigin(as: target)
        let isDowngrade = source.isPotentiallyTrustworthy && !target.isPotentiallyTrustworthy
        return switch self {
        case .noReferrer: nil
        case .noReferrerWhenDowngrade: isDowngrade ? nil : url
        case .sameOrigin: isSameOrigin ? url : nil
        case .origin: origin
        case .strictOrigin: isDowngrade ? nil : origin
        case .originWhenCrossOrigin: isSameOrigin ? url : origin
        case .strictOriginWhenCrossOrigin: isSameOrigin ? url : isDowngrade ? nil : origin
        case .unsafeURL: url
        }
    }
}

/// The caller's `Referer` field and the referrer policy, over the redirects of a load.
struct RedirectReferrer: Sendable {
    /// The value that the caller set.
    private var source: String
    /// The value in the request after the last redirect; `nil` for none.
    private var current: String?
    private var policy = ReferrerPolicy.strictOriginWhenCrossOrigin

    /// Returns the `Referer` of the request after a redirect, and the state for the redirect after that.
    ///
    /// - Parameters:
    ///   - old: the result for the previous redirect, if there was one.
    ///   - value: the value that the current request has.
    ///   - response: the redirect response. Its `Referrer-Policy` applies to this redirect and the next ones.
    ///
    /// Fetch Standard, "HTTP-redirect fetch"; Referrer Policy §8.2
    static func afterRedirect(
        _ old: RedirectReferrer?, value: String?, response: Response?, from currentURL: URLRecord, to target: URLRecord
    ) -> RedirectReferrer? {
        // If the value differs, the delegate has set it in the meantime.
        guard var referrer = old.flatMap({ $0.current == value ? $0 : nil }) ?? value.map({ RedirectReferrer(source: $0, current: $0) })
        else { return nil }
        if let response, let policy = ReferrerPolicy(in: response.fields) { referrer.policy = policy }
        // `try?` because a value that is not an absolute URL is sent only to the same origin.
        if let source = try? URLRecord(parsing: referrer.source) {
            referrer.current = referrer.policy.referrer(from: source, to: target)
        } else {
            referrer.current = referrer.policy != .noReferrer && target.hasSameOrigin(as: currentURL) ? referrer.source : nil
        }
        return referrer
    }

    /// The value to send; `nil` for none.
    var value: String? { current }
}

extension URLRecord {
    /// The URL without user information and fragment, or only its origin. `nil` for a URL without a host, or of a
    /// scheme that is never a referrer.
    ///
    /// Referrer Policy §8.4, "strip url for use as a referrer"
    fileprivate func strippedForReferrer(toOrigin isOriginOnly: Bool) -> String? {
        guard !["about", "blob", "data"].contains(scheme), let host, !host.isEmpty else { return nil }
        let port = port.map { ":\($0)" } ?? ""
        if isOriginOnly { return "\(scheme)://\(host)\(port)/" }
        return "\(scheme)://\(host)\(port)\(path)\(query.map { "?\($0)" } ?? "")"
    }

    /// W3C Secure Contexts §3.1, "potentially trustworthy origin"
    var isPotentiallyTrustworthy: Bool {
        switch scheme {
        case "https", "wss", "file": return true
        default: break
        }
        guard let host else { return false }
        // A host that consists of digits and dots is an IPv4 address (WHATWG URL §3.5).
        let isLoopbackAddress = host.hasPrefix("127.") && host.utf8.allSatisfy { $0 == UInt8(ascii: ".") || $0 &- 0x30 < 10 }
        return host == "localhost" || host.hasSuffix(".localhost") || host == "[::1]" || isLoopbackAddress
    }
}
