// SPDX-License-Identifier: Apache-2.0

package import HTTPTypes

/// Where the body of a response ends.
///
/// RFC 9112 §6.3
package enum BodyFraming: Sendable, Equatable {
    /// No body, whatever the fields say.
    case none
    case length(Int64)
    case chunked
    /// The body ends with the connection.
    case untilClose
    /// No body. From here on the connection is a tunnel and carries no more HTTP.
    case tunnel

    /// Applies the rules of RFC 9112 §6.3, in their order.
    ///
    /// If a response has both Transfer-Encoding and Content-Length, Transfer-Encoding counts (rule 3). A body whose
    /// Transfer-Encoding does not include chunked ends with the connection (rule 4). ``FramingFields/transferCodings``
    /// lists the codings to undo. An unknown coding and a coding applied over chunked are errors, because the delivered
    /// bytes would not be what the server means (§6.1).
    ///
    /// - Parameter method: the method of the request.
    /// - Throws: the reason why the framing is invalid. Nothing that follows on the connection means anything then.
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
    /// Whether another request may be sent on the connection after the body has ended.
    ///
    /// `false` if one side could see the end of this response elsewhere than the client does. This is the case for
    /// Transfer-Encoding together with Content-Length, for Transfer-Encoding in HTTP/1.0 (RFC 9112 §6.1), for invalid
    /// lengths even if they don't count, and for an announced body where none is possible.
    ///
    /// RFC 9112 §9.3
    package func allowsReuse(after body: BodyFraming) -> Bool {
        switch body {
        case .untilClose, .tunnel: return false
        case .none, .length, .chunked: break
        }
        let isSound = !framing.isSuspect && framing.contentLengthFault == nil && framing.transferEncodingFault == nil
        guard isSound, !framing.closes, minorVersion > 0 || framing.keepsAlive else { return false }
        if framing.hasTransferEncoding, framing.contentLength != nil || minorVersion == 0 { return false }
        let canAnnounce = !(100..<200).contains(status) && status != 204
        return canAnnounce || !framing.hasTransferEncoding && (framing.contentLength ?? 0) == 0
    }
}
