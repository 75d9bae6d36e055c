// SPDX-License-Identifier: Apache-2.0

import HTTPTypes
import PortolanCoding
import PortolanCore
import PortolanHTTPSyntax

/// A request with all fields that are sent. Its encoding depends on the version of HTTP.
struct PreparedRequest: Sendable {
    let method: HTTPRequest.Method
    let url: URLRecord
    let framing: RequestFraming
    /// The fields that HTTP/1.1 sends, in their order. HTTP/2 omits those that concern an HTTP/1.1 connection.
    var fields: HTTPFields { didSet { lines = nil } }
    /// The fields as HTTP/1.1 field lines; `nil` if they were not made.
    private var lines: [UInt8]?
    /// The target that replaces path and query in the request line; `nil` for none.
    private let verbatimTarget: String?
    private let minorVersion: Int
    /// Whether the body waits for a `100 (Continue)`.
    let expectsContinue: Bool
    /// Whether the configuration, and not the caller, adds the expectation.
    let addsExpectation: Bool
    /// Whether the caller has set `Connection: close`.
    let closesConnection: Bool
    /// The priority of the request relative to other requests.
    var priority: LoadPriority

    /// Makes a plain request from the values of a ``RequestTemplate``.
    ///
    /// - Parameter lines: the fields as HTTP/1.1 field lines.
    init(_ request: Request, fields: HTTPFields, lines: [UInt8]) {
        (method, url, priority) = (request.method, request.url, request.priority)
        framing = .none
        self.fields = fields
        self.lines = lines
        (expectsContinue, addsExpectation, closesConnection) = (false, false, false)
        (verbatimTarget, minorVersion) = (nil, 1)
    }

    /// - Parameters:
    ///   - allowsExpectation: whether the configuration's ``ExpectContinuePolicy`` applies.
    ///   - delaysBody: whether an empty body is sent instead of the request's.
    /// - Throws: ``LoadError/Code/badRequest`` for a request that can't be sent.
    init(
        _ request: Request, configuration: HTTPConfiguration, allowsExpectation: Bool = true, delaysBody: Bool = false
    ) throws(LoadError) {
        guard request.method != .connect else {
            throw LoadError(.badRequest, message: "CONNECT makes a tunnel and loads nothing", remedy: .nameProxy)
        }
        guard request.method != .trace || request.body == nil else {
            throw LoadError(.badRequest, message: "TRACE is sent without a body (RFC 9110 §9.3.8); leave it out")
        }
        method = request.method
        priority = request.priority
        url = request.url
        framing = delaysBody ? .length(0) : RequestFraming(method: request.method, body: request.body)
        verbatimTarget = request.requestTarget
        minorVersion = request.httpVersion == .http1_0 ? 0 : 1
        guard minorVersion == 1 || framing != .chunked else {
            throw LoadError(
                .badRequest, message: "HTTP/1.0 cannot send a body of unknown length; give a body whose length is known, or use HTTP/1.1")
        }
        addsExpectation =
            allowsExpectation && minorVersion == 1 && configuration.expectContinue.applies(to: framing)
            && !request.fields.contains(.expect)
        let asksForCodings = configuration.sendsAcceptEncoding && request.decodesContent
        var callerFields = request.fields
        // The caller's length is that of the whole body.
        if delaysBody { callerFields[.contentLength] = nil }
        let requestFields = try RequestFields(
            completing: callerFields, host: RequestTarget.hostField(of: request.url), framing: framing,
            defaults: RequestFields.Defaults(
                userAgent: configuration.userAgent,
                acceptEncoding: asksForCodings ? ContentDecoding.acceptEncoding(for: request) : nil, accept: configuration.accept),
            expectsContinue: addsExpectation)
        fields = requestFields.fields
        expectsContinue = requestFields.expectsContinue
        closesConnection = requestFields.closesConnection
    }

    /// Path and query, or the target that replaces them.
    var path: String {
        if let verbatimTarget { return verbatimTarget }
        let path = url.path.isEmpty ? "/" : url.path
        return url.query.map { "\(path)?\($0)" } ?? String(path)
    }

    /// The head in HTTP/1.1.
    ///
    /// - Parameter usesAbsoluteForm: whether the request line has the whole URL, for a proxy that forwards the request
    ///   (RFC 9112 §3.2.2).
    func http1Head(usesAbsoluteForm: Bool) throws(LoadError) -> RequestHeadWriter {
        let urlTarget = usesAbsoluteForm ? RequestTarget.absoluteForm(of: url) : .originForm(of: url)
        let target = verbatimTarget.map { .verbatim($0) } ?? urlTarget
        let fieldLines: [UInt8]
        if let lines { fieldLines = lines } else { fieldLines = try RequestHeadWriter.lines(of: fields) }
        return try RequestHeadWriter(method: method, target: target, lines: fieldLines, minorVersion: minorVersion)
    }
}

extension ExpectContinuePolicy {
    func applies(to framing: RequestFraming) -> Bool {
        guard let bodySizeThreshold else { return false }
        return switch framing {
        case .none: false
        case .length(let length): length > bodySizeThreshold
        case .chunked: true
        }
    }
}
