// SPDX-License-Identifier: Apache-2.0

import HTTPTypes

/// Redirects one request to a secure URL, before anything is sent (HSTS).
///
/// The redirect has the status 307 and the field `Non-Authoritative-Reason`, as in browsers. A delegate that declines
/// the redirect receives this response without a body.
struct UpgradeHandler: ProtocolHandler {
    let identifier = "org.portolan.hsts"
    let schemes = SchemeSet.any
    let traits: HandlerTraits = .stopsAsynchronously
    private let target: URLRecord

    init(to target: URLRecord) { self.target = target }

    func makeLoad(for request: Request, cachedResponse: CachedResponse?, client: any ProtocolClient) -> any ProtocolLoad {
        var response = Response(url: request.url, expectedLength: 0, status: .temporaryRedirect)
        response.fields[.location] = target.string
        if let reason = HTTPField.Name("Non-Authoritative-Reason") { response.fields[reason] = "HSTS" }
        var upgraded = request
        upgraded.url = target
        return ScriptedLoad([.redirect(to: upgraded, response), .response(response), .finish], client: client)
    }
}
