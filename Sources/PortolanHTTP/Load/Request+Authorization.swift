// SPDX-License-Identifier: Apache-2.0

import HTTPTypes
public import PortolanCore
import PortolanTransport

extension Request {
    /// Sends a user name and a password to the URL's origin with the first request, with Basic authentication (RFC 7617
    /// §2). Redirects to another origin do not send them.
    ///
    /// If the server offers only Digest, the load uses the same credential. If the server refuses the credential, the
    /// load's delegate receives a challenge.
    ///
    /// - Throws: `LoadError.Code.authenticationRequired` for a user name with a colon, and for control characters.
    public mutating func setBasicAuthorization(user: String, password: String) throws(LoadError) {
        fields[.authorization] = try PasswordCredential(user: user, password: password).basicValue()
    }

    /// Sends a token to the URL's origin (RFC 6750 §2.1). Redirects to another origin do not send it.
    ///
    /// - Throws: `LoadError.Code.badRequest` for a character that a field can't have.
    public mutating func setBearerToken(_ token: String) throws(LoadError) {
        try setField("Authorization", "Bearer \(token)")
    }
}
