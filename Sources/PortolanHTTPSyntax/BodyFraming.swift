// SPDX-License-Identifier: Apache-2.0

package import HTTPTypes

/// How the end of a response's body is found.
///
/// RFC 9112 §6.3
package enum BodyFraming: Sendable, Equatable {
    /// No body. The fields about a body are ignored.
    case none
    case length(Int64)
    case chunked
    /// The body ends with the connection.
    case untilClose
    /// No body. The connection is a tunnel from now on, and carries no more HTTP.
    case tunnel

    /// Applies the rules of RFC 9112 §6.3, in their order.
    ///
    /// If a response has both Transfer-Encoding and Content-Length, Content-Length is ignored (rule 3). If
    /// Transfer-Encoding does not include chunked, the body ends with the connection (rule 4). An unknown coding, and a
    /// coding after chunked, are errors, because the client could not decode the body (§6.1).
    ///
    /// - Parameter method: the method of the request.
    /// - Throws: the reason why the framing is invalid. After such an error, the connection can't be used again.
    package init(method: HTTPRequest.Method, head: ResponseHead) throws(ResponseSyntaxError) {
        let framing = head.framing
        switch head.status {
        case 101: throw ResponseSyntaxError(.unrequestedUpgrade)
        case 100..<200, 204, 304: self = .none
        case _ where method == .head: self = .none
        case 200..<300 where method == .connect: self = .tunnel
        case _ where framing.hasTransferEncoding:
            if let fault = framing.transferEncodingFault { throw fault }
            self = framing.isChunked ? .chunked : .untilClose
        default:
            if let fault = framing.contentLengthFault { throw fault }
            self = framing.contentLength.map { .length($0) } ?? .untilClose
        }
    }
}

extension ResponseHead {
    /// Whether the client can send another request on the connection after the body has ended.
    ///
    /// `false` for a tunnel, and if the server closes the connection. Also `false` if the server, or a proxy, could
    /// place the end of this response differently than the client. This is possible if there are both Transfer-Encoding
    /// and Content-Length, if an HTTP/1.0 response has Transfer-Encoding (RFC 9112 §6.1), if a framing field is invalid
    /// even if it is ignored, and if the fields announce a body that the response must not have.
    ///
    /// RFC 9112 §9.3
    package func allowsReuse(after body: BodyFraming) -> Bool {
        switch body {
        case .untilClose, .tunnel: return false
        case .none, .length, .chunked: break
        }
        let isValid = !framing.isSuspect && framing.contentLengthFault == nil && framing.transferEncodingFault == nil
        guard isValid, !framing.closesConnection, minorVersion > 0 || framing.keepsConnectionOpen else { return false }
        if framing.hasTransferEncoding, framing.contentLength != nil || minorVersion == 0 { return false }
        let canAnnounceBody = !(100..<200).contains(status) && status != 204
        return canAnnounceBody || !framing.hasTransferEncoding && (framing.contentLength ?? 0) == 0
    }
}
