// SPDX-License-Identifier: Apache-2.0

public import PortolanCore

extension Request {
    private static let delayedBodyName = "org.portolan.http.delays-body"

    /// Whether the body is sent only after the challenge of the server or a proxy. The first request has an empty body
    /// (`Content-Length: 0`). Use this for credentials that answer a challenge, such as those of Digest. The server
    /// refuses the first request, and without this property, the whole body would be sent twice.
    ///
    /// If the server accepts the empty request with a 2xx status, the request is sent again with its body. By default
    /// `false`.
    public var delaysBodyUntilChallenge: Bool {
        get { !properties.isEmpty && properties[Self.delayedBodyName] == .boolean(true) }
        set { properties[Self.delayedBodyName] = newValue ? .boolean(true) : nil }
    }
}
