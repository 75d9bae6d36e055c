// SPDX-License-Identifier: Apache-2.0

import FoundationEssentials
import HTTPTypes
import Portolan
import PortolanCore
import PortolanJSON
import PortolanTrace

/// A request of one line to load a URL.
struct StdioLoadRequest: Sendable {
    let request: Request
    let redirects: RedirectPolicy.Mode
    let credentials: ChallengeResponder?

    /// Ignores unknown members.
    init(_ json: JSONValue) throws(LoadError) {
        guard let url = try json.string("url") else { throw LoadError(.badRequest, message: "the member 'url' is missing") }
        var request = try Request(url)
        if let name = try json.string("method") {
            guard let method = HTTPRequest.Method(name) else {
                throw LoadError(.badRequest, message: "\(QuotedText(name)) is not a method")
            }
            request.method = method
        }
        request.fields = try Self.fields(json["headers"])
        request.body = try Self.body(json)
        request.cachePolicy = try Self.cachePolicy(json.string("cache"))
        request.timeouts.total = try Self.timeout(json["timeoutMs"])
        redirects = try Self.redirects(json.string("redirect") ?? "follow")
        credentials = try Self.credentials(json["credentials"], for: request.url)
        self.request = request
    }

    private static func fields(_ json: JSONValue?) throws(LoadError) -> HTTPFields {
        var fields = HTTPFields()
        switch json {
        case nil, .null: break
        case .array(let pairs):
            for pair in pairs {
                guard case .array(let texts) = pair, texts.count == 2, case .string(let name) = texts[0], case .string(let value) = texts[1]
                else { throw LoadError(.badRequest, message: "each of 'headers' has to be a pair of strings, [\"Name\",\"value\"]") }
                guard let fieldName = HTTPField.Name(name) else {
                    throw LoadError(.badRequest, message: "\(QuotedText(name)) is not a header name")
                }
                guard let field = HTTPField(name: fieldName, latin1: value) else {
                    // The message does not contain the value, because it can be a secret.
                    throw LoadError(
                        .badRequest, message: "the value of the header '\(name)' contains a character that no header may contain")
                }
                fields.append(field)
            }
        default: throw LoadError(.badRequest, message: "the member 'headers' has to be an array of pairs")
        }
        return fields
    }

    private static func body(_ json: JSONValue) throws(LoadError) -> Body? {
        switch (try json.string("body"), try json.string("bodyBase64")) {
        case (nil, nil): return nil
        case (let text?, nil): return .text(text)
        case (nil, let base64?):
            guard let bytes = Data(base64Encoded: base64) else {
                throw LoadError(.badRequest, message: "the member 'bodyBase64' is not base64 (RFC 4648 §4, with padding)")
            }
            return .bytes(Array(bytes))
        case (.some, .some): throw LoadError(.badRequest, message: "'body' and 'bodyBase64' cannot be combined")
        }
    }

    private static func cachePolicy(_ mode: String?) throws(LoadError) -> CachePolicy {
        guard let mode else { return .useProtocol }
        guard let policy = CachePolicy(mode: mode) else {
            throw LoadError(.badRequest, message: "\(QuotedText(mode)) is not a cache mode; the modes are \(CachePolicy.modeList)")
        }
        return policy
    }

    /// Fetch, "request redirect mode"
    private static func redirects(_ mode: String) throws(LoadError) -> RedirectPolicy.Mode {
        switch mode {
        case "follow": return .follow
        case "manual": return .manual
        case "error": return .error
        default: throw LoadError(.badRequest, message: "\(QuotedText(mode)) is not a redirect mode; the modes are follow, manual and error")
        }
    }

    private static func timeout(_ json: JSONValue?) throws(LoadError) -> Duration? {
        switch json {
        case nil, .null: return nil
        case .number(let text):
            // The limit is a century, well within the range of `Duration`.
            guard let milliseconds = Double(text), milliseconds > 0, milliseconds <= 3.2e12 else { fallthrough }
            return .milliseconds(milliseconds)
        default: throw LoadError(.badRequest, message: "the member 'timeoutMs' has to be a number above 0")
        }
    }

    private static func credentials(_ json: JSONValue?, for url: URLRecord) throws(LoadError) -> ChallengeResponder? {
        switch json {
        case nil, .null: return nil
        case .some(let json):
            guard case .object = json, let user = try json.string("username"), let password = try json.string("password") else {
                throw LoadError(.badRequest, message: "the member 'credentials' has to be an object with 'username' and 'password'")
            }
            return ChallengeResponder(user: user, password: password, for: url)
        }
    }
}
