// SPDX-License-Identifier: Apache-2.0

public import HTTPTypes

/// The rules for the redirects that a loader follows.
public struct RedirectPolicy: Sendable {
    /// How redirects are handled. Each case corresponds to a redirect mode of the Fetch Standard.
    public enum Mode: Sendable {
        case follow
        /// Redirect responses are delivered like other responses.
        case manual
        /// A redirect fails the load with ``LoadError/Code/badRedirect``.
        case error
    }

    public var mode: Mode
    /// The maximum number of redirects. One more redirect fails the load with ``LoadError/Code/tooManyRedirects``.
    public var limit: Int
    /// The schemes to which only a URL of the same scheme can redirect. By default `file`, so that no server can make
    /// the load read the user's files. For a nested URL such as `gzip:file:///x`, the outer schemes must be the same,
    /// too.
    public var sameSchemeOnly: Set<String>
    /// The schemes, other than `http` and `https`, to which an `http` or `https` URL can redirect. By default none,
    /// because a server must not choose what a plugin loads and which peers it contacts (Fetch Standard, "HTTP-redirect
    /// fetch").
    public var additionalTargetSchemes: Set<String>

    /// Fields of the caller that were meant for the first server: a redirect to another scheme, host or port removes
    /// them, as it removes `Authorization`, `Cookie`, `Proxy-Authorization` and `Host`. For example `X-API-Key`.
    public var originFields: Set<HTTPField.Name>

    /// Whether a redirect to another scheme, host or port keeps the fields that it otherwise removes: `Authorization`,
    /// `Cookie` and ``originFields``, but not `Proxy-Authorization` and `Host`. By default `false`. Any server in a
    /// chain of redirects gets the secrets then.
    public var keepsCredentials = false

    public init(
        mode: Mode = .follow, limit: Int = 20, sameSchemeOnly: Set<String> = ["file"], additionalTargetSchemes: Set<String> = [],
        originFields: Set<HTTPField.Name> = []
    ) {
        self.mode = mode
        self.limit = limit
        self.sameSchemeOnly = sameSchemeOnly
        self.additionalTargetSchemes = additionalTargetSchemes
        self.originFields = originFields
    }
}

extension RedirectPolicy {
    /// The fields that identify the caller.
    private static let credentialFields: [HTTPField.Name] = [.authorization, .cookie]
    /// The fields that are for one server or proxy only. They are never sent to another origin.
    private static let serverFields: [HTTPField.Name] = [.proxyAuthorization] + [HTTPField.Name("Host")].compactMap(\.self)

    /// Returns the request to load next, after a handler has proposed `proposed` as the successor of `current`; `nil`
    /// if the redirect response is delivered instead.
    ///
    /// - Parameters:
    ///   - response: the redirect response, if there is one. Its `Referrer-Policy` is applied to the caller's
    ///     `Referer`.
    ///   - count: the number of redirects that the load has followed, without those of HSTS.
    ///   - upgradesToHTTPS: whether the redirect comes from HSTS and not from a server. Such a redirect is always
    ///     followed, and keeps all fields.
    /// - Throws: ``LoadError/Code/tooManyRedirects``, or ``LoadError/Code/badRedirect``. Its cause is
    ///   ``LoadError/Code/unsupportedScheme`` if the policy forbids redirects to the URL.
    func successor(
        of current: Request, proposed: Request, response: Response? = nil, count: Int, upgradesToHTTPS: Bool = false
    ) throws(LoadError) -> Request? {
        if upgradesToHTTPS {
            var next = proposed
            next.url = next.url.inheritingFragment(of: current.url)
            next.isUpgradedToHTTPS = true
            return next
        }
        switch mode {
        case .follow: break
        case .manual: return nil
        case .error:
            throw LoadError(
                .badRedirect, message: "redirected to \(proposed.url.shortDescription), but the redirect policy forbids redirects")
        }
        guard count < limit else {
            throw LoadError(
                .tooManyRedirects,
                message: "stopped after \(limit) redirects, the limit; the next one leads to \(proposed.url.shortDescription)")
        }
        // SEC-03
        guard allows(proposed.url, from: current.url) else {
            let reason = "a redirect from '\(current.url.scheme):' may not lead there; load that URL directly if you want it"
            throw LoadError(
                .badRedirect, message: "the redirect to \(proposed.url.shortDescription) was refused: \(reason)",
                underlyingError: LoadError(.unsupportedScheme, message: reason))
        }
        var next = proposed
        next.url = next.url.inheritingFragment(of: current.url)
        next.isUpgradedToHTTPS = false
        if !next.url.hasSameOrigin(as: current.url) {
            for name in Self.serverFields { next.fields[name] = nil }
            if !keepsCredentials {
                for name in Self.credentialFields { next.fields[name] = nil }
                for name in originFields { next.fields[name] = nil }
                if next.credentialSource != nil { next.credentialSource = nil }
            }
        }
        next.setReferrer(after: response, from: current)
        return next
    }

    /// Returns the error for a redirect response that cannot be followed, for example because its target is malformed;
    /// `nil` for other responses. The Fetch Standard calls this a network error.
    func error(for response: Response) -> LoadError? {
        guard let status = response.status, status.kind == .redirection, mode != .manual else { return nil }
        switch (RedirectTarget(of: response), mode) {
        case (.noRedirect, _), (.unnamed, .follow), (.url, .follow), (_, .manual): return nil
        case (_, .error):
            return LoadError(
                .badRedirect,
                message: "\(response.url.shortDescription) sent a redirect (\(status.code)), but the redirect policy forbids redirects")
        case (.malformed(let problem), .follow):
            return LoadError(
                .badRedirect, message: "the redirect (\(status.code)) from \(response.url.shortDescription) can't be followed: \(problem)",
                underlyingError: LoadError(.badURL, message: problem))
        case (.ambiguous(let problem), .follow):
            return LoadError(
                .badRedirect, message: "the redirect (\(status.code)) from \(response.url.shortDescription) can't be followed: \(problem)")
        }
    }

    /// Whether the policy allows a redirect from `current` to `proposed`.
    package func allows(_ proposed: URLRecord, from current: URLRecord) -> Bool {
        if Self.isHTTP(current), !Self.isHTTP(proposed), !additionalTargetSchemes.contains(String(proposed.scheme)) { return false }
        let schemes = proposed.nestedSchemes
        guard let depth = schemes.lastIndex(where: sameSchemeOnly.contains) else { return true }
        return current.nestedSchemes.prefix(depth + 1) == schemes[...depth]
    }

    private static func isHTTP(_ url: URLRecord) -> Bool { url.scheme == "http" || url.scheme == "https" }
}

extension Request {
    /// Changes the `Referer` field as the referrer policy requires for this redirect.
    fileprivate mutating func setReferrer(after response: Response?, from current: Request) {
        guard current.redirectReferrer != nil || fields.contains(where: { $0.name == .referer }) else { return }
        redirectReferrer = .afterRedirect(
            current.redirectReferrer, value: fields[.referer], response: response, from: current.url, to: url)
        if fields[.referer] != redirectReferrer?.value { fields[.referer] = redirectReferrer?.value }
    }
}

extension URLRecord {
    /// Returns the URL with the fragment of `current` if it has none (Fetch Standard, "HTTP-redirect fetch").
    package func inheritingFragment(of current: URLRecord) -> URLRecord {
        guard fragment == nil, let fragment = current.fragment else { return self }
        // `try?` because a canonical URL with a canonical fragment is a valid URL.
        return (try? URLRecord(parsing: "\(string)#\(fragment)")) ?? self
    }
}
