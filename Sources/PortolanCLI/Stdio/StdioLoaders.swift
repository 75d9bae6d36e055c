// SPDX-License-Identifier: Apache-2.0

import Portolan

/// The loaders behind `stdio`, which differ in what they do with redirects, and share everything else.
struct StdioLoaders: Sendable {
    private let following: Loader
    private let manual: Loader
    private let failing: Loader
    private let http: HTTPHandler

    /// - Parameter http: the handler that `setup` has for `http:` and `https:`.
    init(_ setup: LoaderSetup, http: HTTPHandler) {
        func loader(_ mode: RedirectPolicy.Mode) -> Loader {
            var setup = setup
            setup.configuration.redirects.mode = mode
            return setup.loader
        }
        (following, manual, failing) = (loader(.follow), loader(.manual), loader(.error))
        self.http = http
    }

    subscript(mode: RedirectPolicy.Mode) -> Loader {
        switch mode {
        case .follow: following
        case .manual: manual
        case .error: failing
        }
    }

    var schemes: [String] { following.schemes }

    /// Loads that begin later use none of them; connections that carry a load just now stay.
    func closeIdleConnections() { http.closeIdleConnections() }
}
