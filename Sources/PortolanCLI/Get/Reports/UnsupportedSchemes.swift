// SPDX-License-Identifier: Apache-2.0

import HTTPTypes
import Portolan
import PortolanTransport

/// Describes a response whose authentication schemes are all unknown here, such as NTLM and Negotiate.
enum UnsupportedSchemes {
    /// Returns one line for such a response; `nil` for all other responses.
    static func line(for response: Response) -> String? {
        let isProxy = response.status?.code == 407
        guard isProxy || response.status?.code == 401 else { return nil }
        let schemes = AuthenticationOffer.unsupportedSchemes(in: isProxy ? .proxyAuthenticate : .wwwAuthenticate, of: response.fields)
        guard !schemes.isEmpty else { return nil }
        let list = schemes.map { "'\($0)'" }.joined(separator: ", ")
        let remedy = schemes.contains("bearer") && !isProxy ? "; for bearer, give a token with --oauth2-bearer" : ""
        return "the \(isProxy ? "proxy" : "server") offers authentication by \(list), which is not supported; "
            + "basic and digest are\(remedy)"
    }
}
