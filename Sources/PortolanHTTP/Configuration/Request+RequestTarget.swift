// SPDX-License-Identifier: Apache-2.0

public import PortolanCore

extension Request {
    private static let requestTargetName = "org.portolan.http.request-target"

    /// The request target that is sent unchanged, instead of the path and the query of the URL: for example `*` in
    /// `OPTIONS *` (RFC 9112 §3.2.4). It must be visible ASCII without blanks. Otherwise the load fails with
    /// `LoadError.Code.badURL`. `nil`, the default, sends the target of the URL. Redirects keep it.
    public var requestTarget: String? {
        get {
            guard !properties.isEmpty, case .text(let text) = properties[Self.requestTargetName] else { return nil }
            return text
        }
        set { properties[Self.requestTargetName] = newValue.map { .text($0) } }
    }
}
