// SPDX-License-Identifier: Apache-2.0

import ArgumentParser
import HTTPTypes
import Portolan
import PortolanCore

/// Options for the request.
struct RequestOptions: ParsableArguments {
    @Option(
        name: [.customShort("X", allowingJoined: true), .customLong("request")], help: ArgumentHelp("Use this method.", valueName: "method")
    )
    var method: String?

    @Option(
        name: [.customShort("H", allowingJoined: true), .customLong("header")], parsing: .unconditionalSingleValue,
        help: ArgumentHelp(
            "Send this header field, 'Name: value'. 'Name:' removes a default field; 'Name;' sends a field without a value. Can be repeated.",
            valueName: "field"))
    var headers: [String] = []

    @Option(
        name: [.customShort("d", allowingJoined: true), .customLong("data"), .customLong("data-binary")],
        parsing: .unconditionalSingleValue,
        help: ArgumentHelp(
            "Send this data in a POST request, as application/x-www-form-urlencoded. @FILE sends the contents of a file; @- is standard input. Can be "
                + "repeated; the parts are joined with &.",
            valueName: "data|@file"))
    var data: [String] = []

    @Option(
        name: [.customShort("T", allowingJoined: true), .customLong("upload-file")], parsing: .unconditional,
        help: ArgumentHelp(
            "Send this file in a PUT request (- is standard input). If the URL ends in /, the name of the file is added.", valueName: "file"
        ),
        completion: .file())
    var uploadedFile: String?

    @Flag(name: [.customShort("I"), .customLong("head")], help: "Send a HEAD request, and print the response's header.")
    var sendsHEAD = false

    @Flag(name: .customLong("raw"), help: "Write the body as received. Do not decode gzip or deflate.")
    var isRaw = false

    /// Another name of `--raw`.
    @Flag(name: .customLong("coded"), help: .hidden)
    var isCoded = false

    @Option(
        name: [.customShort("u", allowingJoined: true), .customLong("user")], parsing: .unconditional,
        help: ArgumentHelp(
            "The user name and password for the URL's server (scheme, host and port). Over HTTP they are sent with the first request (Basic "
                + "authentication).",
            valueName: "user:password"))
    var user: String?

    @Flag(
        name: .customLong("anyauth"),
        help:
            "Send no credentials until the server sends a challenge (401). Then use the strongest scheme that it offers. Needs -u or a user in the URL."
    )
    var waitsForChallenge = false

    @Flag(
        name: .customLong("digest"),
        help: "Send no credentials until the server sends a challenge (401). Then use Digest only. Needs -u or a user in the URL.")
    var usesDigest = false

    /// Accepted for compatibility with curl. It has no effect, because Basic is the default.
    @Flag(name: .customLong("basic"), help: .hidden)
    var usesBasic = false

    @Option(
        name: .customLong("oauth2-bearer"), parsing: .unconditional,
        help: ArgumentHelp("Send this bearer token to the URL's server (RFC 6750).", valueName: "token"))
    var bearerToken: String?

    @Option(
        name: .customLong("max-redirects"),
        help: ArgumentHelp("Follow at most this many redirects. An upgrade of --hsts is none.", valueName: "n"))
    var redirectLimit = 20

    @Option(
        name: [.customShort("m", allowingJoined: true), .customLong("max-time")], parsing: .unconditional,
        help: ArgumentHelp("Fail if the load of a URL takes longer than this in total; 0 means no limit.", valueName: "seconds"),
        transform: Seconds.init(parsing:))
    var timeLimit: Seconds?

    /// Accepted for compatibility with curl. They have no effect, because the program follows redirects and requests
    /// gzip by default.
    @Flag(name: [.customShort("L"), .customLong("location")], help: .hidden)
    var followsRedirects = false
    @Flag(name: .customLong("compressed"), help: .hidden)
    var requestsCompression = false

    func validate() throws {
        if let method, HTTPRequest.Method(method) == nil { throw ValidationError("-X: '\(method)' is not a method") }
        for header in headers where FieldArgument(header) == nil {
            throw ValidationError(FieldArgument.problem(with: header))
        }
        if sendsHEAD, !data.isEmpty { throw ValidationError("-I and -d cannot be combined") }
        if uploadedFile != nil, !data.isEmpty || sendsHEAD { throw ValidationError("-T cannot be combined with -d or -I") }
        if let user, let problem = ChallengeResponder.problem(with: user, sentBy: authentication) {
            throw ValidationError("-u: \(problem)")
        }
        if bearerToken?.isEmpty == true { throw ValidationError("--oauth2-bearer: the token is empty") }
        if redirectLimit < 0 { throw ValidationError("--max-redirects: write a number, 0 or more") }
    }

    private var fields: [FieldArgument] { headers.compactMap(FieldArgument.init) }

    /// Whether `-H` gives the `Authorization` field. As with curl, it is sent instead of any other credential.
    var sendsOwnAuthorization: Bool {
        fields.contains { if case .field(let field) = $0 { field.name == .authorization } else { false } }
    }

    /// The option without an effect, because it needs a user name and there is none; `nil` if there is no such option.
    ///
    /// - Parameter hasOtherCredentials: whether a netrc file or stored credentials can have a user name.
    func optionWithoutUser(for urls: [String], hasOtherCredentials: Bool) -> String? {
        guard usesDigest || waitsForChallenge, user == nil, bearerToken == nil, !hasOtherCredentials else { return nil }
        // The user can be in a URL within the URL.
        guard !urls.contains(where: { $0.contains("@") }) else { return nil }
        return usesDigest ? "--digest" : "--anyauth"
    }

    /// The fields that `-H 'Name:'` removes. As with curl, another `-H 'Name: value'` still sends the field.
    private var omissions: [HTTPField.Name] {
        let added = fields.compactMap { if case .field(let field) = $0 { field.name } else { nil } }
        return fields.compactMap { if case .omission(let name) = $0, !added.contains(name) { name } else { nil } }
    }

    /// The fields that `-H 'Name:'` cannot remove. Without them, the server knows neither the host nor the end of the
    /// body.
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

    /// Applies the options that apply to every request.
    func apply(to configuration: inout HTTPConfiguration) {
        for name in omissions { configuration.omit(name) }
    }

    /// The request body. All URLs and attempts share it, because standard input can be read only once.
    func body() throws(Failure) -> Body? {
        if let uploadedFile { return try UploadBody.file(uploadedFile) }
        return data.isEmpty ? nil : try UploadBody.form(of: data, within: timeLimit?.duration)
    }

    /// - Parameters:
    ///   - body: the result of ``body()``.
    ///   - netrc: the passwords that have precedence over the URL's, or `nil`.
    func request(for url: String, sending body: Body?, netrc: NetrcCredentials? = nil) throws(Failure) -> Request {
        var request = try Request(argument: url)
        request.body = body
        if sendsHEAD { request.method = .head }
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
        if sendsOwnAuthorization { request.credentialSource = "-H" }
        if isRaw || isCoded {
            request.decodesContent = false
            if request.isHTTP, !request.fields.contains(.acceptEncoding) { request.fields[.acceptEncoding] = "gzip, deflate" }
        }
        if netrc?.hasCredential(for: request) != true { try addAuthorization(to: &request) }
        removeOmittedFields(of: &request)
        request.timeouts.total = timeLimit?.duration
        return request
    }

    var authentication: ChallengeResponder.Method { usesDigest ? .digest : waitsForChallenge ? .any : .basic }

    /// Adds the credentials that are sent without a challenge, unless `-H` already adds an `Authorization` field.
    private func addAuthorization(to request: inout Request) throws(Failure) {
        guard request.isHTTP, !request.fields.contains(.authorization) else { return }
        if let bearerToken {
            // The token replaces every other credential.
            request.url = request.url.withoutCredentials
            request.credentialSource = "--oauth2-bearer"
            do throws(LoadError) { try request.setBearerToken(bearerToken) } catch {
                throw Failure(.usage, "--oauth2-bearer: the token contains a character that no header may contain")
            }
        } else if authentication == .basic, let (user, password) = user.map(ChallengeResponder.parts) ?? request.url.userAndPassword {
            request.credentialSource = self.user == nil ? "the URL" : "-u"
            // Digest can send what Basic cannot.
            do throws(LoadError) { try request.setBasicAuthorization(user: user, password: password) } catch {
                Diagnostics.warn("\(self.user == nil ? "the URL" : "-u"): no credentials sent with the first request: \(error.message)")
            }
        }
    }

    /// Removes the fields that the command has added, although `-H 'Name:'` omits them.
    func removeOmittedFields(of request: inout Request) {
        for name in omissions { request.fields[name] = nil }
    }

    /// - Returns: The credentials of `-u`; `nil` without `-u`, and if `-H` removes `Authorization`.
    func credentials(for url: URLRecord) -> ChallengeResponder? {
        guard !omissions.contains(.authorization), bearerToken == nil else { return nil }
        return user.map { ChallengeResponder(argument: $0, for: .origin(url), by: authentication, from: "-u") }
    }

    /// - Returns: The object that refuses to send a credential to the request's server; `nil` unless `-H` adds
    ///   `Authorization`.
    func exclusion(for request: Request) -> ChallengeResponder? {
        guard sendsOwnAuthorization, request.isHTTP else { return nil }
        return ChallengeResponder(user: "", password: "", for: .origin(request.url), by: .never)
    }
}

extension RequestOptions {
    /// Removes the user information from an HTTP URL, and returns the credentials that answer challenges by the same
    /// rules as those of `-u`. Those of `-u` take precedence.
    func removeURLCredentials(from request: inout Request) -> ChallengeResponder? {
        guard request.isHTTP, let (user, password) = request.url.userAndPassword else { return nil }
        request.url = request.url.withoutCredentials
        guard self.user == nil, bearerToken == nil, !omissions.contains(.authorization) else { return nil }
        return ChallengeResponder(user: user, password: password, for: .origin(request.url), by: authentication, from: "the URL")
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
