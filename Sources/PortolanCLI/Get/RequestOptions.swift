// SPDX-License-Identifier: Apache-2.0

import ArgumentParser
import HTTPTypes
import Portolan
import PortolanCore

/// Options for the request.
struct RequestOptions: ParsableArguments {
    @Option(name: [.customShort("X"), .customLong("request")], help: ArgumentHelp("Use this method.", valueName: "method"))
    var method: String?

    @Option(
        name: [.customShort("H"), .customLong("header")], parsing: .unconditionalSingleValue,
        help: ArgumentHelp(
            "Send this field, 'Name: value'; 'Name:' removes a default field, 'Name;' sends an empty one. May be repeated.",
            valueName: "field"))
    var headers: [String] = []

    @Option(
        name: [.customShort("d"), .customLong("data"), .customLong("data-binary")], parsing: .unconditionalSingleValue,
        help: ArgumentHelp(
            "Send this data, or with @ the bytes of a file (@- is standard input), as a form by POST. May be repeated; the parts are joined with &.",
            valueName: "data|@file"))
    var data: [String] = []

    @Option(
        name: [.customShort("T"), .customLong("upload-file")], parsing: .unconditional,
        help: ArgumentHelp(
            "Send this file by PUT (- is standard input). If the URL ends in /, the file's name is added.", valueName: "file"),
        completion: .file())
    var uploadedFile: String?

    @Flag(name: [.customShort("I"), .customLong("head")], help: "Request only the head, and print it.")
    var asksHeadOnly = false

    @Flag(name: [.customLong("coded"), .customLong("raw")], help: "Write the body without decoding gzip and the like.")
    var keepsCoding = false

    @Option(
        name: [.customShort("u"), .customLong("user")], parsing: .unconditional,
        help: ArgumentHelp(
            "The user name and password for the URL's server (scheme, host and port). Over HTTP they are sent with the first request, by Basic.",
            valueName: "user:password"))
    var user: String?

    @Flag(
        name: .customLong("anyauth"),
        help: "With -u, or a user in the URL: wait until the server asks, and use the strongest scheme that it offers.")
    var waitsForChallenge = false

    @Flag(name: .customLong("digest"), help: "With -u, or a user in the URL: wait until the server asks, and use Digest only.")
    var usesDigest = false

    /// Accepted for compatibility with curl: the default.
    @Flag(name: .customLong("basic"), help: .hidden)
    var usesBasic = false

    @Option(
        name: .customLong("oauth2-bearer"), parsing: .unconditional,
        help: ArgumentHelp("Send this token to the URL's server (RFC 6750).", valueName: "token"))
    var bearerToken: String?

    @Option(name: .customLong("max-redirects"), help: ArgumentHelp("Follow at most this many redirects.", valueName: "n"))
    var redirectLimit = 20

    @Option(
        name: [.customShort("m"), .customLong("max-time")],
        help: ArgumentHelp("Fail if a URL takes longer than this in total; 0 is no limit.", valueName: "seconds"),
        transform: Seconds.init(parsing:))
    var timeLimit: Seconds?

    /// Accepted for compatibility with curl: redirects are followed and gzip is requested by default.
    @Flag(name: [.customShort("L"), .customLong("location")], help: .hidden)
    var followsRedirects = false
    @Flag(name: .customLong("compressed"), help: .hidden)
    var asksForCodings = false

    func validate() throws {
        if let method, HTTPRequest.Method(method) == nil { throw ValidationError("-X: '\(method)' is not a method") }
        for header in headers where FieldArgument(header) == nil {
            throw ValidationError(FieldArgument.complaint(about: header))
        }
        if asksHeadOnly, !data.isEmpty { throw ValidationError("-I and -d cannot be combined") }
        if uploadedFile != nil, !data.isEmpty || asksHeadOnly { throw ValidationError("-T cannot be combined with -d or -I") }
        if let user, !user.contains(":") { throw ValidationError("-u: write user:password") }
        if redirectLimit < 0 { throw ValidationError("--max-redirects: write a number, 0 or more") }
    }

    private var fields: [FieldArgument] { headers.compactMap(FieldArgument.init) }

    /// The fields that `-H 'Name:'` leaves out. As with curl, `-H 'Name: value'` beside it still sends the field.
    private var omissions: [HTTPField.Name] {
        let given = fields.compactMap { if case .field(let field) = $0 { field.name } else { nil } }
        return fields.compactMap { if case .omission(let name) = $0, !given.contains(name) { name } else { nil } }
    }

    /// The fields that `-H 'Name:'` cannot leave out. Without them, the server knows neither the site nor where the
    /// body ends.
    var omissionsWithoutEffect: [String] {
        let sendsBody = uploadedFile != nil || !data.isEmpty
        return omissions.filter { name in
            switch name.canonicalName {
            case "host": true
            case "content-length", "transfer-encoding": sendsBody
            default: false
            }
        }.map(\.rawName)
    }

    /// Applies the options that concern every request.
    func adjust(_ configuration: inout HTTPConfiguration) {
        for name in omissions { configuration.omit(name) }
    }

    /// The request body, shared by all URLs and tries, because standard input can be read only once.
    func body() throws(Failure) -> Body? {
        if let uploadedFile { return try UploadBody.file(uploadedFile) }
        return data.isEmpty ? nil : try UploadBody.form(of: data, within: timeLimit?.duration)
    }

    /// - Parameter body: the result of ``body()``.
    func request(for url: String, sending body: Body?) throws(Failure) -> Request {
        var request = try Request(argument: url)
        request.body = body
        if asksHeadOnly { request.method = .head }
        if !data.isEmpty {
            request.method = .post
            if request.isHTTP, !fields.contains(where: { $0.name == .contentType }) {
                request.fields[.contentType] = "application/x-www-form-urlencoded"
            }
        }
        if let uploadedFile {
            request.method = .put
            request.url = try UploadBody.url(request.url, for: uploadedFile)
        }
        if let method = method.flatMap({ HTTPRequest.Method($0) }) { request.method = method }
        for case .field(let field) in fields { request.fields.append(field) }
        if keepsCoding {
            request.decodesContent = false
            if request.isHTTP, !request.fields.contains(.acceptEncoding) { request.fields[.acceptEncoding] = "gzip, deflate" }
        }
        try authorize(&request)
        leaveOutFields(of: &request)
        request.timeouts.total = timeLimit?.duration
        return request
    }

    private var authentication: PasswordAnswer.Method { usesDigest ? .digest : waitsForChallenge ? .any : .basic }

    /// Adds what is sent without a challenge, unless `-H` does.
    private func authorize(_ request: inout Request) throws(Failure) {
        guard request.isHTTP, !request.fields.contains(.authorization) else { return }
        if let bearerToken {
            // The token replaces every other credential.
            request.url = request.url.withoutCredentials
            do throws(LoadError) { try request.setBearerToken(bearerToken) } catch {
                throw Failure(.usage, "--oauth2-bearer: the token contains a character that no header may contain")
            }
        } else if authentication == .basic, let (user, password) = user.map(PasswordAnswer.parts) ?? request.url.userAndPassword {
            // `try?` because what Basic can't carry is reported when the server asks for it.
            try? request.setBasicAuthorization(user: user, password: password)
        }
    }

    /// Removes fields that the command added and the user does not want to send.
    func leaveOutFields(of request: inout Request) {
        for name in omissions { request.fields[name] = nil }
    }

    /// - Returns: The credentials of `-u`; `nil` without `-u`, and if `-H` leaves out `Authorization`.
    func passwords(for url: URLRecord) -> PasswordAnswer? {
        guard !omissions.contains(.authorization), bearerToken == nil else { return nil }
        return user.map { PasswordAnswer(argument: $0, for: .origin(url), by: authentication) }
    }
}

extension URLRecord {
    /// The user information, decoded; `nil` without one.
    fileprivate var userAndPassword: (user: String, password: String)? {
        hasCredentials ? (PercentEncoding.decode(username), PercentEncoding.decode(password)) : nil
    }
}

extension Request {
    fileprivate var isHTTP: Bool { url.scheme == "http" || url.scheme == "https" }
}
