// SPDX-License-Identifier: Apache-2.0

import FoundationEssentials
package import PortolanCore

/// A user name and a password.
package struct PasswordCredential: Hashable, Sendable {
    let user: String
    let password: String

    package init(user: String, password: String) {
        self.user = user
        self.password = password
    }

    /// `nil` if the credential is not a user name and a password.
    package init?(_ credential: Credential) {
        guard case .password(let user, let password, _) = credential else { return nil }
        self.init(user: user, password: password)
    }

    package static func == (a: Self, b: Self) -> Bool {
        OctetText(a.user) == OctetText(b.user) && OctetText(a.password) == OctetText(b.password)
    }

    package func hash(into hasher: inout Hasher) {
        hasher.combine(OctetText(user))
        hasher.combine(OctetText(password))
    }

    package var credential: Credential { .password(user: user, password: password) }

    /// Whether a URL has this user name and password, or has none.
    package func isOfUser(in url: URLRecord) -> Bool {
        !url.hasCredentials || self == Self(user: PercentEncoding.decode(url.username), password: PercentEncoding.decode(url.password))
    }

    /// Reads the credential from the value of an authorization field. `nil` if the value is not a valid one for Basic.
    package init?(basicValue: String) {
        let parts = basicValue.split(separator: " ", maxSplits: 1)
        guard parts.count == 2, parts[0].lowercased() == "basic", let bytes = Data(base64Encoded: String(parts[1])),
            let text = String(validating: bytes, as: UTF8.self), let colon = text.firstIndex(of: ":")
        else { return nil }
        self.init(user: String(text[..<colon]), password: String(text[text.index(after: colon)...]))
    }

    /// The value of `Authorization` or `Proxy-Authorization` for the Basic scheme. The value is always in UTF-8,
    /// because a challenge may name no other charset.
    ///
    /// - Throws: if Basic can't carry the credential. A colon ends the user name, and control characters are not
    ///   allowed.
    ///
    /// RFC 7617 §2
    package func basicValue() throws(LoadError) -> String {
        try checkForBasic()
        return "Basic " + Data("\(user):\(password)".utf8).base64EncodedString()
    }

    /// Throws if Basic can't carry the credential, as ``basicValue()`` does.
    func checkForBasic() throws(LoadError) {
        guard let problem = Credential.problemWithBasic(user: user, password: password) else { return }
        throw LoadError(.authenticationRequired, message: "\(self) can't be used: \(problem)")
    }

    /// The message of SOCKS5 with user name and password. An empty password is also sent, as curl does, although the
    /// RFC does not provide for it.
    ///
    /// RFC 1929 §2
    func socksMessage() throws(LoadError) -> [UInt8] {
        let (user, password) = (Array(user.utf8), Array(password.utf8))
        guard (1...255).contains(user.count), password.count <= 255 else {
            throw LoadError(
                .authenticationRequired,
                message: "\(self) can't be used: SOCKS5 allows 1 to 255 bytes of user name and up to 255 of password; use shorter ones")
        }
        return [1, UInt8(user.count)] + user + [UInt8(password.count)] + password
    }
}

extension PasswordCredential: CustomStringConvertible, CustomDebugStringConvertible, CustomReflectable {
    /// Never shows the password. Shows the user name as ``QuotedText``.
    package var description: String { "user \(QuotedText(user))" }
    package var debugDescription: String { description }
    package var customMirror: Mirror { Mirror(self, children: [:]) }
}
