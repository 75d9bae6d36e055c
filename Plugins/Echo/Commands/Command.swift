// SPDX-License-Identifier: Apache-2.0

import PortolanPluginKit

/// The command of a URL, without the delivery options (``ResponseOptions``).
enum Command: Sendable {
    /// Returns a description of the request.
    case request
    case bytes([UInt8], isText: Bool)
    /// Returns this many bytes of the ``Pattern``.
    case size(Int64)
    /// Returns the upload body as it arrives.
    case upload
    /// Returns the length of the upload body.
    case sink
    case redirect(to: String)
    /// Redirects to the same URL with `next` as its query. In `next`, the parameter `times` is smaller by one.
    case detour(next: String)
    /// Redirects to the same URL forever.
    case loop
    case challenge(RequiredCredential)
    /// Fails after this many bytes; `nil` means without a response.
    case fail(PluginError, after: Int64?)
    /// Delivers a response and never ends.
    case hang

    /// The credential that a challenge requires.
    final class RequiredCredential: Sendable {
        let user: String
        let password: String
        let realm: String?
        /// The number of incorrect credentials after which the load fails.
        let attempts: Int

        init(user: String, password: String, realm: String?, attempts: Int) {
            (self.user, self.password, self.realm, self.attempts) = (user, password, realm, attempts)
        }
    }

    static let names = ["request", "text", "bytes", "size", "upload", "sink", "redirect", "loop", "challenge", "fail", "hang"]
    static let largestSize: Int64 = 1 << 40
}

extension Command {
    /// Parses the command with this name, and removes its parameters from `parameters`.
    init(_ name: String, _ parameters: inout Parameters, query: String?) throws(PluginError) {
        switch name {
        case "", "request": self = .request
        case "text": self = .bytes(try parameters.bytes("text") ?? [], isText: true)
        case "bytes": self = try Self.bytes(&parameters)
        case "size":
            let count = try parameters.number("bytes", in: 0...Self.largestSize)
            self = .size(try parameters.requireValue(count, "bytes", "a number from 0 to \(Self.largestSize)"))
        case "upload": self = .upload
        case "sink": self = .sink
        case "redirect": self = try Self.redirect(&parameters, query: query)
        case "loop": self = .loop
        case "challenge": self = try Self.challenge(&parameters)
        case "fail": self = try Self.fail(&parameters)
        case "hang": self = .hang
        default:
            throw PluginError(.badURL, message: "echo: has no command \(Excerpt(name)); it has \(Self.names.joined(separator: ", "))")
        }
    }

    private static func bytes(_ parameters: inout Parameters) throws(PluginError) -> Command {
        let text = try parameters.bytes("base64") ?? []
        guard let bytes = Base64.decode(text) else {
            throw parameters.invalidValue("base64", String(decoding: text, as: UTF8.self), "base64 of whole bytes, in either alphabet")
        }
        return .bytes(bytes, isText: false)
    }

    private static func redirect(_ parameters: inout Parameters, query: String?) throws(PluginError) -> Command {
        let requirement = "an absolute URL of printable ASCII, as in to=data:,there"
        let target = try parameters.requireValue(try parameters.text("to"), "to", requirement)
        let scheme = target.prefix { !":/?#".contains($0) }
        guard target.utf8.allSatisfy({ (UInt8(ascii: "!")...UInt8(ascii: "~")).contains($0) }), !scheme.isEmpty,
            target.dropFirst(scheme.count).first == ":"
        else { throw parameters.invalidValue("to", target, requirement) }
        guard let times = try parameters.number("times", in: 1...10_000), times > 1 else { return .redirect(to: target) }
        return .detour(next: Self.query(query ?? "", withTimes: times - 1))
    }

    /// Returns the query with its `times` parameter replaced.
    private static func query(_ query: String, withTimes times: Int64) -> String {
        let parts = Array(query.utf8).split(separator: UInt8(ascii: "&")).map { part in
            let name = EchoPercentEncoding.decode(part.prefix { $0 != UInt8(ascii: "=") })
            return name == Array("times".utf8) ? "times=\(times)" : String(decoding: part, as: UTF8.self)
        }
        return parts.joined(separator: "&")
    }

    private static func challenge(_ parameters: inout Parameters) throws(PluginError) -> Command {
        let user = try parameters.requireValue(try parameters.text("user"), "user", "the correct user")
        let password = try parameters.requireValue(try parameters.text("password"), "password", "the correct password")
        let realm = try parameters.text("realm")
        if let realm, realm.unicodeScalars.contains(where: \.isBreaking) {
            throw parameters.invalidValue("realm", realm, "a text without line breaks and control characters")
        }
        let attempts = try parameters.number("attempts", in: 1...100) ?? 3
        return .challenge(RequiredCredential(user: user, password: password, realm: realm, attempts: Int(attempts)))
    }

    private static func fail(_ parameters: inout Parameters) throws(PluginError) -> Command {
        let domain = try parameters.text("domain")
        let requirement =
            domain == nil
            ? "one of \(PluginError.Code.names.joined(separator: ", "))" : "a number of that domain, -2147483648 to 2147483647"
        let name = try parameters.requireValue(try parameters.text("code"), "code", requirement)
        guard
            let code = domain == nil
                ? PluginError.Code(named: name) : Int32(name.hasPrefix("+") ? "" : name).map({ PluginError.Code(rawValue: $0) })
        else {
            throw parameters.invalidValue("code", name, requirement)
        }
        if let domain, !domain.isReverseDNS {
            throw parameters.invalidValue("domain", domain, "a reverse DNS name, as in org.example.tide")
        }
        let message = try parameters.text("message") ?? "the URL asked for this failure, \(name)"
        guard (1...4096).contains(message.utf8.count), !message.unicodeScalars.contains(where: \.isBreaking) else {
            throw parameters.invalidValue("message", message, "one line of 1 to 4096 bytes without control characters")
        }
        return .fail(PluginError(code, domain: domain, message: message), after: try parameters.number("after", in: 0...largestSize))
    }
}

extension Unicode.Scalar {
    /// Whether the scalar is a line separator or a control character.
    fileprivate var isBreaking: Bool {
        switch properties.generalCategory {
        case .control, .lineSeparator, .paragraphSeparator: true
        default: false
        }
    }
}

extension String {
    /// At least two labels of letters, digits and hyphens, at most 255 bytes.
    fileprivate var isReverseDNS: Bool {
        let labels = split(separator: ".", omittingEmptySubsequences: false)
        return utf8.count <= 255 && labels.count > 1
            && labels.allSatisfy { label in
                !label.isEmpty && label.utf8.count <= 63 && label.first != "-" && label.last != "-"
                    && label.utf8.allSatisfy { $0 == UInt8(ascii: "-") || $0.isLetterOrDigit }
            }
    }
}
