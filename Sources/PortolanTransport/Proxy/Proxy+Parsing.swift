// SPDX-License-Identifier: Apache-2.0

import PortolanCore
import PortolanHTTPSyntax

extension Proxy {
    /// The default ports of curl. `defaultPort` is for all schemes except `https`.
    private static let (defaultPort, defaultSecurePort) = (1080, 443)

    /// Parses `[scheme://][user[:password]@]host[:port]`. Ignores the part after a slash, as curl does.
    ///
    /// The URL parser is not enough, because it removes port 80 from `http:` URLs.
    ///
    /// - Parameter source: where the text comes from, for messages: for example the name of a variable.
    /// - Throws: ``LoadError/Code/proxyNotFound``, ``LoadError/Code/badURL`` for a credential that can't be sent, or
    ///   ``LoadError/Code/notOffered``. The message does not show user and password.
    init(parsing text: String, from source: String) throws(LoadError) {
        let startText = "\(source) is \(QuotedText(Self.withoutCredential(text)))"
        var rest = text[...]
        var scheme = "http"
        if let separator = Self.schemeEnd(of: text) {
            scheme = text[..<separator].lowercased()
            rest = text[text.index(separator, offsetBy: 3)...]
        }
        let kind = try Self.kind(scheme, startText)
        rest = rest.prefix { $0 != "/" && $0 != "?" && $0 != "#" }
        var credential: PasswordCredential?
        if let atSign = rest.lastIndex(of: "@") {
            credential = Self.credential(rest[..<atSign])
            rest = rest[rest.index(after: atSign)...]
        }
        let (hostText, port) = try Self.hostAndPort(rest, startText)
        // `try?` because the parser's error adds nothing to this message.
        guard !hostText.isEmpty, hostText.utf8.allSatisfy({ $0 > 0x20 && $0 != 0x7F }), !hostText.contains(where: { "\\%@".contains($0) }),
            let url = try? URLRecord(parsing: "http://\(hostText)/"), let host = url.host
        else {
            throw LoadError(.proxyNotFound, message: "\(startText), which has no valid host; write [scheme://][user:password@]host[:port]")
        }
        self.init(
            kind: kind, isSecure: scheme == "https", host: String(host.first == "[" ? host.dropFirst().dropLast() : host),
            port: port ?? (scheme == "https" ? Self.defaultSecurePort : Self.defaultPort), credential: credential,
            credentialSource: credential == nil ? nil : "the proxy's URL")
        try checkCredential(source)
    }

    private static func schemeEnd(of text: String) -> String.Index? {
        text.indices.first { text[$0...].hasPrefix("://") }
    }

    private static func kind(_ scheme: String, _ startText: String) throws(LoadError) -> Kind {
        switch scheme {
        case "http", "https": return .http
        case "socks5": return .socks5(.local)
        case "socks5h": return .socks5(.byProxy)
        case "socks", "socks4", "socks4a":
            throw LoadError(
                .notOffered, message: "\(startText), a proxy of SOCKS version 4, which Portolan does not speak; use socks5 or socks5h")
        default:
            throw LoadError(.proxyNotFound, message: "\(startText), whose scheme is not a proxy scheme; use http, https, socks5 or socks5h")
        }
    }

    private static func credential(_ text: Substring) -> PasswordCredential {
        let user = text.prefix { $0 != ":" }
        return PasswordCredential(
            user: PercentEncoding.decode(user), password: PercentEncoding.decode(text.dropFirst(user.count + 1)))
    }

    private static func hostAndPort(_ text: Substring, _ startText: String) throws(LoadError) -> (host: Substring, port: Int?) {
        let afterAddress = text.first == "[" ? text.firstIndex(of: "]") ?? text.startIndex : text.startIndex
        guard let colon = text[afterAddress...].lastIndex(of: ":") else { return (text, nil) }
        let digits = text[text.index(after: colon)...]
        guard digits.utf8.allSatisfy(\.isDecimalDigit), digits.isEmpty || (1...65_535).contains(Int(digits) ?? 0) else {
            throw LoadError(.proxyNotFound, message: "\(startText), whose port is not a number from 1 to 65535; write one after the colon")
        }
        return (text[..<colon], Int(digits))
    }

    /// Checks that the credential can be sent, so that loads need not check it.
    private func checkCredential(_ source: String) throws(LoadError) {
        guard let credential else { return }
        do throws(LoadError) {
            switch kind {
            case .http: try AuthenticationOffer.basic(realm: nil).check(credential)
            case .socks5: try AuthenticationOffer.socks.check(credential)
            }
        } catch {
            throw LoadError(.badURL, message: "\(source): \(error.message)")
        }
    }

    /// The text without the credential. The credential ends at the last `@`.
    private static func withoutCredential(_ text: String) -> String {
        guard let atSign = text.lastIndex(of: "@") else { return text }
        let start = schemeEnd(of: text).map { text.index($0, offsetBy: 3) } ?? text.startIndex
        return (start <= atSign ? text[..<start] : "") + "…" + text[atSign...]
    }
}
