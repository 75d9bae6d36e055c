// SPDX-License-Identifier: Apache-2.0

import HTTPTypes
import PortolanCore
import PortolanHTTPSyntax

/// Requests a tunnel from an HTTP proxy with CONNECT. Does not read the body of a refusal.
///
/// RFC 9110 §9.3.6
struct ConnectNegotiation: TunnelNegotiation {
    let greeting: [UInt8]
    private let proxy: Proxy
    private let target: String
    private let limits: HTTPLimits
    private var parser: ResponseHeadParser
    private var interimCount = 0

    /// - Parameters:
    ///   - target: host and port of the origin. The port is always present.
    ///   - userAgent: sent only if it is valid as the value of a field.
    init(to target: String, through proxy: Proxy, userAgent: String?, limits: HTTPLimits) throws(LoadError) {
        var fields: HTTPFields = [RequestFields.hostName: target]
        if let userAgent, userAgent.utf8.allSatisfy(\.isFieldOctet) { fields[.userAgent] = userAgent }
        if let authorization = proxy.authorization {
            let value = try authorization.value(method: "CONNECT", target: target, contents: { () throws(LoadError) in [] }).octets
            fields.append(HTTPField(name: .proxyAuthorization, value: value))
        }
        greeting = try RequestHeadWriter(method: .connect, target: .authority(target), fields: fields).bytes()
        self.proxy = proxy
        self.target = target
        self.limits = limits
        parser = ResponseHeadParser(limits: limits)
    }

    mutating func next(_ input: borrowing RawSpan, from offset: inout Int) throws(LoadError) -> TunnelStep {
        while let head = try parse(input, from: &offset) {
            switch head.status {
            case 200..<300: return .established
            case 100..<200 where head.isInterim:
                interimCount += 1
                guard interimCount <= limits.maximumInterimResponsesPerResponse else {
                    throw failure(ResponseSyntaxError(.tooManyInterimResponses))
                }
            default: throw refusal(head)
            }
        }
        return .needsMore
    }

    private mutating func parse(_ input: borrowing RawSpan, from offset: inout Int) throws(LoadError) -> ResponseHead? {
        do throws(ResponseSyntaxError) {
            return try parser.parse(input, from: &offset)
        } catch {
            throw failure(error)
        }
    }

    private func refusal(_ head: ResponseHead) -> LoadError {
        let code = String(head.status)
        let line = String(repeating: "0", count: max(0, 3 - code.utf8.count)) + code + (head.reason.isEmpty ? "" : " \(head.reason)")
        let start = "the proxy \(proxy) refused a tunnel to \(target) with \(QuotedText(line))"
        guard head.status == 407 else {
            return LoadError(.tunnelFailed, message: "\(start); ask its operator, or exclude the host from the proxy")
        }
        let offers = AuthenticationOffer.all(in: .proxyAuthenticate, of: head.fields)
        let cause = ProxyChallenge(offers: offers)
        guard let credential = proxy.credential else {
            return LoadError(.tunnelFailed, message: start, remedy: .giveProxyPassword, underlyingError: cause)
        }
        return LoadError(
            .tunnelFailed, message: "\(start); it did not accept \(credential): check name and password", underlyingError: cause)
    }

    private func failure(_ error: ResponseSyntaxError) -> LoadError {
        if error.rule == .tlsResponse { return .respondsWithTLS(proxy) }
        return LoadError(
            error.rule.code == .limitExceeded ? .limitExceeded : .tunnelFailed, message: "the proxy \(proxy): \(error.description)")
    }

    var errorAtEnd: LoadError {
        LoadError(
            .tunnelFailed,
            message: "the proxy \(proxy) closed the connection when asked for a tunnel to \(target); check that it allows that"
                + (parser.isAtStart && !proxy.isSecure ? ", or write https:// as its scheme if it speaks TLS" : ""))
    }
}
