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
    /// With the connection.
    case untilClose
    /// No body and no HTTP from here on: the connection is a tunnel.
    case tunnel

    /// The rules of RFC 9112 §6.3, in their order.
    ///
    /// Where Transfer-Encoding and Content-Length both stand, Transfer-Encoding counts (rule 3). A Transfer-Encoding without chunked ends with the
    /// connection (rule 4); the codings to undo are in ``FramingFields/transferCodings``. A coding that is unknown, and one over chunked, is a fault: what
    /// would be delivered is not what the server means (§6.1).
    ///
    /// - Parameter method: of the request that is answered.
    /// - Throws: what makes the framing invalid: then nothing that follows on the connection means anything.
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
    /// Whether another request may be sent on the connection when the body has ended.
    ///
    /// Not if either side could see the end of this response elsewhere than we do: Transfer-Encoding together with Content-Length, or in
    /// HTTP/1.0 (RFC 9112 §6.1); lengths that are faulty though they don't count; a body announced where there can be none.
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
