// SPDX-License-Identifier: Apache-2.0

import HTTPTypes
import PortolanCoding
import PortolanCore
import PortolanHTTPSyntax

/// A request that is ready to send except for its form, which differs between the versions of HTTP.
struct PreparedRequest: Sendable {
    let method: HTTPRequest.Method
    let url: URLRecord
    let framing: RequestFraming
    /// The fields as HTTP/1.1 sends them, in their order. They include fields that only concern one connection.
    var fields: HTTPFields { didSet { lines = nil } }
    /// The fields as HTTP/1.1 writes them, if that is known.
    private var lines: [UInt8]?
    /// Whether the body waits for a `100 (Continue)`.
    let expectsContinue: Bool
    /// Whether Portolan adds the expectation, and not the caller.
    let addsExpectation: Bool
    /// Whether the caller wants the connection to end after the request.
    let closes: Bool
    /// How soon the server should respond, relative to other requests.
    var priority: LoadPriority

    /// Makes a request without a body, for which everything but the URL is known.
    ///
    /// - Parameter lines: the fields as HTTP/1.1 writes them.
    init(_ request: Request, fields: HTTPFields, lines: [UInt8]) {
        (method, url, priority) = (request.method, request.url, request.priority)
        framing = .none
        self.fields = fields
        self.lines = lines
        (expectsContinue, addsExpectation, closes) = (false, false, false)
    }

    /// - Parameter mayExpect: whether the policy may make the body wait.
    /// - Throws: ``LoadError/Code/badRequest`` for a request that can't be sent.
    init(_ request: Request, configuration: HTTPConfiguration, mayExpect: Bool = true) throws(LoadError) {
        guard request.method != .connect else {
            throw LoadError(.badRequest, message: "CONNECT makes a tunnel and loads nothing", remedy: .nameProxy)
        }
        guard request.method != .trace || request.body == nil else {
            throw LoadError(.badRequest, message: "TRACE is sent without a body (RFC 9110 §9.3.8); leave it out")
        }
        method = request.method
        priority = request.priority
        url = request.url
        framing = RequestFraming(method: request.method, body: request.body)
        addsExpectation = mayExpect && configuration.expectContinue.applies(to: framing) && !request.fields.contains(.expect)
        let asksForCodings = configuration.sendsAcceptEncoding && request.decodesContent
        let completed = try RequestFields(
            completing: request.fields, host: RequestTarget.hostField(of: request.url), framing: framing,
            defaults: RequestFields.Defaults(
                userAgent: configuration.userAgent,
                acceptEncoding: asksForCodings ? ContentDecoding.acceptEncoding(for: request) : nil, accept: configuration.accept),
            expectsContinue: addsExpectation)
        fields = completed.fields
        expectsContinue = completed.expectsContinue
        closes = completed.closes
    }

    /// Path and query.
    var path: String {
        let path = url.path.isEmpty ? "/" : url.path
        return url.query.map { "\(path)?\($0)" } ?? String(path)
    }

    /// The head in HTTP/1.1.
    ///
    /// - Parameter namesWholeURL: whether to write the whole URL, as a proxy that forwards the request requires.
    func http1Head(namingWholeURL namesWholeURL: Bool) throws(LoadError) -> RequestHeadWriter {
        let target = namesWholeURL ? RequestTarget.absolute(of: url) : .origin(of: url)
        guard let lines else { return try RequestHeadWriter(method: method, target: target, fields: fields) }
        return try RequestHeadWriter(method: method, target: target, lines: lines)
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
