// SPDX-License-Identifier: Apache-2.0

import HTTPTypes

/// Which redirects a loader follows.
public struct RedirectPolicy: Sendable {
    /// How a redirect is handled, with the meanings of the Fetch Standard's redirect modes.
    public enum Mode: Sendable {
        case follow
        /// The redirect response is delivered.
        case manual
        /// The load fails with ``LoadError/Code/badRedirect``.
        case error
    }

    public var mode: Mode
    /// How many redirects one load follows. One more fails the load with ``LoadError/Code/tooManyRedirects``.
    public var limit: Int
    /// Schemes to which a redirect leads only from a URL of the same scheme. By default `file`, so that no server reads
    /// the user's files. Inside other schemes, as in `gzip:file:///x`, a redirect leads there only from a URL with
    /// exactly the same ones.
    public var sameSchemeOnly: Set<String>
    /// Schemes other than `http` and `https` to which a redirect from those two leads. By default none, because a
    /// server must not choose what a plugin loads and which peers it contacts (Fetch Standard, "HTTP-redirect fetch").
    public var additionalTargetSchemes: Set<String>

    public init(mode: Mode = .follow, limit: Int = 20, sameSchemeOnly: Set<String> = ["file"], additionalTargetSchemes: Set<String> = []) {
        self.mode = mode
        self.limit = limit
        self.sameSchemeOnly = sameSchemeOnly
        self.additionalTargetSchemes = additionalTargetSchemes
    }
}

extension RedirectPolicy {
    /// Fields that identify the caller, or that were meant for one server. They are never sent to another scheme, host
    /// or port.
    private static let originFields: [HTTPField.Name] =
        [.authorization, .cookie, .proxyAuthorization] + [HTTPField.Name("Host")].compactMap(\.self)

    /// Returns the request to make when a handler proposes `proposed` as the successor of `current`; `nil` if the
    /// redirect response is to be delivered.
    ///
    /// - Parameters:
    ///   - count: how many redirects the load has followed.
    ///   - isUpgrade: whether no server redirects, but the host is known to want secure connections only. Such a
    ///     redirect is always followed, and keeps all fields.
    /// - Throws: ``LoadError/Code/tooManyRedirects``, or ``LoadError/Code/badRedirect``, with the cause
    ///   ``LoadError/Code/unsupportedScheme`` if a redirect may not lead to the URL.
    func successor(of current: Request, proposed: Request, count: Int, isUpgrade: Bool = false) throws(LoadError) -> Request? {
        if isUpgrade {
            var next = proposed
            next.url = next.url.inheritingFragment(of: current.url)
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
        if !next.url.hasSameOrigin(as: current.url) {
            for name in Self.originFields { next.fields[name] = nil }
        }
        return next
    }

    /// Returns why a response is an error: it is a redirect response that the handler could not offer as a redirect,
    /// because it cannot be followed. The Fetch Standard calls this a network error.
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

    /// Whether a redirect may lead from `current` to `proposed`.
    package func allows(_ proposed: URLRecord, from current: URLRecord) -> Bool {
        if Self.isHTTP(current), !Self.isHTTP(proposed), !additionalTargetSchemes.contains(String(proposed.scheme)) { return false }
        let schemes = proposed.nestedSchemes
        guard let depth = schemes.lastIndex(where: sameSchemeOnly.contains) else { return true }
        return current.nestedSchemes.prefix(depth + 1) == schemes[...depth]
    }

    private static func isHTTP(_ url: URLRecord) -> Bool { url.scheme == "http" || url.scheme == "https" }
}

extension URLRecord {
    /// A redirect without a fragment keeps the fragment of the current URL (Fetch Standard, "HTTP-redirect fetch").
    package func inheritingFragment(of current: URLRecord) -> URLRecord {
        guard fragment == nil, let fragment = current.fragment else { return self }
        // `try?` because a canonical URL with a canonical fragment is a valid URL.
        return (try? URLRecord(parsing: "\(description)#\(fragment)")) ?? self
    }
}
