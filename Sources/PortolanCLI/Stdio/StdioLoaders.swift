// SPDX-License-Identifier: Apache-2.0

import Portolan

/// The loaders of `stdio`. They differ in their redirect mode, and share everything else.
struct StdioLoaders: Sendable {
    private let followLoader: Loader
    private let manualLoader: Loader
    private let errorLoader: Loader
    private let http: HTTPHandler
    /// The cookies of all loads.
    let cookies: CookieStorage
    /// The credentials that servers have accepted.
    let credentials: CredentialStorage
    /// The hosts that are reached over HTTPS only (RFC 6797).
    let strictHosts: HSTSStorage
    /// The stored responses of all loads.
    let cache: ResponseCache

    /// - Parameters:
    ///   - http: the handler for `http:` and `https:` in `setup`.
    ///   - state: the cookies, credentials and hosts; `nil` to keep them in memory.
    ///   - cache: the stored responses; `nil` to keep them in memory.
    init(_ setup: LoaderSetup, http: HTTPHandler, state: KeptState? = nil, cache: ResponseCache? = nil) {
        self.cache = cache ?? ResponseCache()
        cookies = state?.cookies ?? CookieStorage()
        credentials = state?.credentials ?? CredentialStorage()
        strictHosts = state?.strictHosts ?? HSTSStorage()
        var setup = setup
        setup.configuration.cookies = cookies
        setup.configuration.credentials = credentials
        setup.configuration.strictTransportSecurity = strictHosts
        setup.configuration.cache = self.cache
        func loader(_ mode: RedirectPolicy.Mode) -> Loader {
            var setup = setup
            setup.configuration.redirects.mode = mode
            return setup.loader
        }
        (followLoader, manualLoader, errorLoader) = (loader(.follow), loader(.manual), loader(.error))
        self.http = http
    }

    subscript(mode: RedirectPolicy.Mode) -> Loader {
        switch mode {
        case .follow: followLoader
        case .manual: manualLoader
        case .error: errorLoader
        }
    }

    var schemes: [String] { followLoader.schemes }

    /// Closes idle connections, so that later loads cannot reuse them. Connections with a running load stay open.
    func closeIdleConnections() { http.closeIdleConnections() }
}
