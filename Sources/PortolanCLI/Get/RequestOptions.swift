// SPDX-License-Identifier: Apache-2.0

import ArgumentParser
import HTTPTypes
import Portolan
import PortolanContent
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
        name: [.customShort("A", allowingJoined: true), .customLong("user-agent")], parsing: .unconditional,
        help: ArgumentHelp("Send this User-Agent; '' sends none.", valueName: "name"))
    var userAgent: String?

    @Option(
        name: [.customShort("e", allowingJoined: true), .customLong("referer")], parsing: .unconditional,
        help: ArgumentHelp(
            "Send this Referer. With ';auto' at the end, a redirect sends the URL that redirects.", valueName: "url"))
    var referrer: String?

    @Option(
        name: [.customShort("T", allowingJoined: true), .customLong("upload-file")], parsing: .unconditionalSingleValue,
        help: ArgumentHelp(
            "Send this file in a PUT request (- is standard input). If the URL ends in /, the name of the file is added. For several URLs, give "
                + "several files.", valueName: "file"),
        completion: .file())
    var uploadedFiles: [String] = []

    @Flag(
        name: [.customShort("I"), .customLong("head")],
        help: "Send a HEAD request, and print the response's header. With -X, end after the header.")
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
        name: .customLong("proto"), parsing: .unconditional,
        help: ArgumentHelp("Load only URLs of these schemes: '=http,https' allows only these, '-http' forbids one.", valueName: "schemes"))
    var schemes: String?

    @Flag(name: .customLong("http1.0"), help: "Use HTTP/1.0 (-0).")
    var usesHTTP1_0 = false

    @Flag(name: .customLong("http2-prior-knowledge"), help: "Use HTTP/2 also for http: URLs, without asking the server.")
    var usesHTTP2WithPriorKnowledge = false

    @Option(
        name: .customLong("max-filesize"), parsing: .unconditional,
        help: ArgumentHelp(
            "Fail with exit status 63 if the body has more bytes than this. A number can end in k, M, G or T (powers of 1024); 0 means no limit.",
            valueName: "bytes"), transform: ByteCount.init(parsing:))
    var sizeLimit: ByteCount?

    @Option(
        name: .customLong("limit-rate"), parsing: .unconditional,
        help: ArgumentHelp(
            "Send and receive at most this many bytes of bodies per second. A number can end in k, M, G or T (powers of 1024).",
            valueName: "bytes"),
        transform: ByteCount.init(parsing:))
    var rateLimit: ByteCount?

    @Option(
        name: .customLong("request-target"), parsing: .unconditional,
        help: ArgumentHelp("Send this request target instead of the path and the query of the URL, for example *.", valueName: "target"))
    var requestTarget: String?

    @Option(
        name: [.customShort("m", allowingJoined: true), .customLong("max-time")], parsing: .unconditional,
        help: ArgumentHelp("Fail if the load of a URL takes longer than this in total; 0 means no limit.", valueName: "seconds"),
        transform: Seconds.init(parsing:))
    var timeLimit: Seconds?

    /// Accepted for compatibility with curl. It has no effect, because the program requests gzip by default.
    @Flag(name: .customLong("compressed"), help: .hidden)
    var requestsCompression = false

    func validate() throws {
        if let method, HTTPRequest.Method(method) == nil { throw ValidationError("-X: '\(method)' is not a method") }
        for header in headers where FieldArgument(header) == nil && header.contains(":") {
            throw ValidationError(FieldArgument.problem(with: header))
        }
        if let userAgent, !HTTPField.isValidValue(userAgent[...].trimmingSpace) {
            throw ValidationError("-A: the name contains a character that no header may contain")
        }
        if let referrer, !HTTPField.isValidValue(referrer) {
            throw ValidationError("-e: the URL contains a character that no header may contain")
        }
        if requestTarget?.isEmpty == true { throw ValidationError("--request-target: the target is empty") }
        if let user, let problem = ChallengeResponder.problem(with: user, sentBy: authentication) {
            throw ValidationError("-u: \(problem)")
        }
        if bearerToken?.isEmpty == true { throw ValidationError("--oauth2-bearer: the token is empty") }
    }

    private var fields: [FieldArgument] { headers.compactMap(FieldArgument.init) }

    /// Whether an argument of `-H` has no colon, and is ignored, as with curl.
    var hasTextWithoutField: Bool { headers.contains { FieldArgument($0) == nil } }

    /// The names of the fields of `-H` that are not sent, or not as given, because they concern the connection.
    func unsentFields(for urls: [String]) -> [String] {
        guard urls.contains(where: { URLArgument.addingScheme(to: $0, knownSchemes: []).lowercased().hasPrefix("http") }) else { return [] }
        return fields.compactMap {
            if case .field(let field) = $0, field.withoutConnectionOptions != field { field.name.rawName } else { nil }
        }
    }

    /// The disposition of the parts of a form. As with curl, they are attachments if `-H` gives the body another type.
    var formDisposition: MultipartForm.Disposition {
        let type = fields.lazy.compactMap { if case .field(let field) = $0, field.name == .contentType { field.value } else { nil } }.first
        return FormArgument.disposition(inBodyOfType: type ?? "multipart/form-data")
    }

    /// Whether `-H` gives the `Authorization` field. As with curl, it is sent instead of any other credential.
    var sendsOwnAuthorization: Bool {
        fields.contains { if case .field(let field) = $0 { field.name == .authorization } else { false } }
    }

    /// The option without an effect, because it needs a user name and there is none; `nil` if there is no such option.
    ///
    /// - Parameter hasOtherCredentials: whether a netrc file or stored credentials can have a user name.
    func optionWithoutUser(for urls: [String], hasOtherCredentials: Bool) -> String? {
        guard usesDigest || waitsForChallenge, user == nil, bearerToken == nil, !hasOtherCredentials else { return nil }
        // A URL that is nested in the URL can contain the user.
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
    ///
    /// - Parameter data: the data that the request sends.
    func omissionsWithoutEffect(with data: DataOptions) -> [String] {
        let sendsBody = !uploadedFiles.isEmpty || data.sendsBody
        return omissions.filter { name in
            switch name.canonicalName {
            case "host": true
            case "content-length": sendsBody
            case "transfer-encoding": sendsBody && statedLength == nil
            default: false
            }
        }.map(\.rawName)
    }

    /// Applies the options that apply to every request.
    func apply(to configuration: inout HTTPConfiguration) {
        if let userAgent { configuration.userAgent = userAgent.isEmpty ? nil : userAgent[...].trimmingSpace }
        for name in omissions { configuration.omit(name) }
    }

    /// The file that is sent to a URL.
    ///
    /// - Parameter index: the position of the URL among those of the operation.
    func uploadedFile(at index: Int) -> String? { uploadedFiles.indices.contains(index) ? uploadedFiles[index] : nil }

    /// Throws if the options cannot be combined with data.
    func check(_ data: DataOptions) throws {
        if sendsHEAD, data.sendsBody { throw ValidationError("-I and -d cannot be combined; -G puts the data into the URL") }
        if !uploadedFiles.isEmpty, data.sendsBody || sendsHEAD { throw ValidationError("-T cannot be combined with -d or -I") }
    }

    /// - Parameters:
    ///   - data: the data for the query.
    ///   - requestBody: the body of the file, or the one of `data`.
    ///   - uploadedFile: the file of `-T`; `nil` for none.
    ///   - netrc: the passwords that have precedence over the URL's, or `nil`.
    func request(
        for url: String, with data: DataOptions, sending requestBody: RequestBody?, uploading uploadedFile: String? = nil,
        netrc: NetrcCredentials? = nil
    ) throws(Failure) -> Request {
        var request = try Request(argument: url)
        request.url = try data.addingQuery(to: request.url, within: timeLimit?.duration)
        request.body = adapted(requestBody?.body)
        if sendsHEAD { request.method = .head }
        for field in requestBody?.fields ?? [] where request.isHTTP && !fields.contains(where: { $0.name == field.name }) {
            request.fields.append(field)
        }
        if data.sendsBody { request.method = .post }
        if let uploadedFile {
            request.method = .put
            request.url = try UploadBody.url(request.url, for: uploadedFile)
        }
        if let method = method.flatMap({ HTTPRequest.Method($0) }) { request.method = method }
        for case .field(let givenField) in fields where !isReplaced(givenField, request.body) {
            guard let field = request.isHTTP ? givenField.withoutConnectionOptions : givenField else { continue }
            // As in curl, the first Host counts.
            if field.name.canonicalName == "host", request.fields.contains(where: { $0.name == field.name }) { continue }
            if field.name == .contentType, let boundary = requestBody?.boundary {
                // As in curl, the type of -H gets the boundary, without which the server cannot read the form.
                request.fields.append(HTTPField(name: .contentType, value: "\(field.value); boundary=\(boundary)"))
                continue
            }
            request.fields.append(field)
        }
        if let referrer = initialReferrer, !request.fields.contains(.referer) { request.fields[.referer] = referrer }
        request.requestTarget = requestTarget
        if authentication == .digest { request.delaysBodyUntilChallenge = request.body != nil }
        if usesHTTP1_0, request.isHTTP, let body = request.body, body.length == nil {
            throw Failure(.uploadImpossible, "HTTP/1.0 cannot send a body of unknown length; send a file, or leave out -0")
        }
        if usesHTTP1_0 { request.httpVersion = .http1_0 } else if usesHTTP2WithPriorKnowledge { request.httpVersion = .http2 }
        // A response for another target must not answer a request for the URL.
        if requestTarget != nil { request.cachePolicy = .noStore }
        request.maximumBodySize = sizeLimit?.count
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

    /// Whether `-H 'Transfer-Encoding: chunked'` requests a body without a length.
    var sendsChunked: Bool {
        fields.contains {
            if case .field(let field) = $0 { field.name == .transferEncoding && field.value.lowercased() == "chunked" } else { false }
        }
    }

    /// Changes the length of a body as `-H` requests it.
    private func adapted(_ body: Body?) -> Body? {
        guard let body else { return nil }
        if sendsChunked { return body.withoutLength }
        guard body.length == nil, omissions.contains(.transferEncoding), let length = statedLength else { return body }
        return Body(length: length, isRewindable: body.isRewindable) { () throws(LoadError) in try body.makeReader() }
    }

    /// The length of the body in the `Content-Length` of `-H`.
    private var statedLength: Int64? {
        fields.lazy.compactMap { if case .field(let field) = $0, field.name == .contentLength { Int64(field.value) } else { nil } }.first
    }

    /// Whether the program sends the field itself, because it depends on the body.
    private func isReplaced(_ field: HTTPField, _ body: Body?) -> Bool {
        switch field.name {
        case .transferEncoding: sendsChunked
        // A body of unknown length is sent in chunks.
        case .contentLength: body.map { $0.length == nil } ?? false
        default: false
        }
    }

    /// Whether only the head of the response is wanted, although the request has another method than HEAD.
    var endsAfterHead: Bool { sendsHEAD && method.map { $0 != "HEAD" } == true }

    private static let automaticReferrer = ";auto"

    /// Whether a redirect sends the URL that redirects as `Referer`.
    var sendsAutomaticReferrer: Bool { referrer?.hasSuffix(Self.automaticReferrer) == true }

    private var initialReferrer: String? {
        guard let referrer else { return nil }
        let url = sendsAutomaticReferrer ? String(referrer.dropLast(Self.automaticReferrer.count)) : referrer
        return url.isEmpty ? nil : url
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
            // This is only a warning, because Digest can send characters that Basic cannot.
            do throws(LoadError) { try request.setBasicAuthorization(user: user, password: password) } catch {
                Diagnostics.warn("\(self.user == nil ? "the URL" : "-u"): no credentials sent with the first request: \(error.message)")
            }
        }
    }

    /// Removes the fields that the command has added, although `-H 'Name:'` omits them.
    func removeOmittedFields(of request: inout Request) {
        for name in omissions { request.fields[name] = nil }
    }

    /// - Returns: The credentials of `-u`; `nil` without `-u`, with `--oauth2-bearer`, and if `-H` removes
    ///   `Authorization`.
    func credentials(for url: URLRecord) -> ChallengeResponder? {
        guard !omissions.contains(.authorization), bearerToken == nil else { return nil }
        return user.map { ChallengeResponder(argument: $0, for: .origin(url), by: authentication, from: "-u") }
    }

    /// - Returns: The responder that sends no credential to the request's server; `nil` unless `-H` adds
    ///   `Authorization`.
    func exclusion(for request: Request) -> ChallengeResponder? {
        guard sendsOwnAuthorization, request.isHTTP else { return nil }
        return ChallengeResponder(user: "", password: "", for: .origin(request.url), by: .never)
    }
}

extension RequestOptions {
    /// Removes the user information from an HTTP URL.
    ///
    /// - Returns: The credentials of the URL, which answer challenges by the same rules as those of `-u`; `nil` if
    ///   there are none, if `-u` or `--oauth2-bearer` has precedence, or if `-H` removes `Authorization`.
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
