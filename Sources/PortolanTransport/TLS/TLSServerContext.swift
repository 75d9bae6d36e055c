// SPDX-License-Identifier: Apache-2.0

import PortolanCore

/// The TLS context of a server, which is made when the first connection needs it. Can be used on any thread.
package final class TLSServerContext: Sendable {
    package let settings: TLSServerSettings
    let contexts: TLSContextCache

    package init(_ settings: TLSServerSettings) {
        self.settings = settings
        contexts = TLSContextCache(TLSSettings()) { contexts, protocols throws(LoadError) in
            try TLSContext(
                server: settings, identity: try LoadedIdentity(settings.identity, for: .serverCertificate),
                clientRoots: try settings.clientAuthentication.roots.map { roots throws(LoadError) in try contexts.load(roots) })
        }
    }
}

extension TLSServerSettings.ClientAuthentication {
    fileprivate var roots: TrustRoots? {
        switch self {
        case .none: nil
        case .optional(let roots), .required(let roots): roots
        }
    }

    var isRequired: Bool { if case .required = self { true } else { false } }
}
