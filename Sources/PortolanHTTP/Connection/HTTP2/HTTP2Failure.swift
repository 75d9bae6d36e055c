// SPDX-License-Identifier: Apache-2.0

import NIOCore
import NIOHPACK
import NIOHTTP2
import PortolanCore

extension HTTP2ErrorCode {
    /// As the RFC spells it; the number of one that it does not have.
    ///
    /// RFC 9113 §7
    var name: String {
        let names = [
            "NO_ERROR", "PROTOCOL_ERROR", "INTERNAL_ERROR", "FLOW_CONTROL_ERROR", "SETTINGS_TIMEOUT", "STREAM_CLOSED", "FRAME_SIZE_ERROR",
            "REFUSED_STREAM", "CANCEL", "COMPRESSION_ERROR", "CONNECT_ERROR", "ENHANCE_YOUR_CALM", "INADEQUATE_SECURITY",
            "HTTP_1_1_REQUIRED",
        ]
        return networkCode < names.count ? names[networkCode] : "error \(networkCode)"
    }
}

extension LoadError {
    /// The server ended the stream with `RST_STREAM`.
    static func reset(by key: ConnectionKey, _ code: HTTP2ErrorCode) -> LoadError {
        let remedy =
            switch code {
            case .refusedStream, .enhanceYourCalm: "load it later, or fewer at a time"
            case .http11Required: "ask for HTTP/1.1"
            default: "try again, or ask for HTTP/1.1"
            }
        return LoadError(.connectionLost, message: "\(key) ended the answer with \(code.name); \(remedy)")
    }

    /// The server ended the connection with `GOAWAY`, and says that it never looked at the request.
    static func passedOver(by key: ConnectionKey, _ code: HTTP2ErrorCode) -> LoadError {
        LoadError(.connectionLost, message: "\(key) closed the connection (\(code.name)) and left the request aside; try again")
    }

    /// What the peer did on a connection, or on a stream, that ends it.
    ///
    /// - Parameter isGreeted: whether the server has shown that it speaks HTTP/2 at all.
    static func http2(_ error: any Error, from key: ConnectionKey, isGreeted: Bool = true) -> LoadError {
        let remedy = "the server, or a proxy before it, has to be mended; ask for HTTP/1.1 meanwhile"
        switch error {
        case let error as LoadError: return error
        case let error as NIOHTTP2Errors.StreamError: return http2(error.baseError, from: key)
        case is NIOHTTP2Errors.ExcessivelyLargeHeaderBlock, is NIOHPACKErrors.MaxHeaderListSizeViolation,
            is NIOHTTP2Errors.ExcessiveContinuationFrames:
            return LoadError(
                .limitExceeded,
                message: "the fields of a response from \(key) take too many bytes; raise HTTPLimits.fieldSection if that is meant",
                cause: error)
        case is NIOHTTP2Errors.ExcessiveControlFrames, is NIOHTTP2Errors.ExcessiveEmptyDataFrames, is NIOHTTP2Errors.ExcessiveRSTFrames,
            is NIOHTTP2Errors.ExcessiveStreamErrors, is NIOHTTP2Errors.ExcessiveNumberOfGlitches,
            is NIOHTTP2Errors.ExcessiveOutboundFrameBuffering:
            return LoadError(
                .limitExceeded, message: "\(key) sent more frames without content than a connection may bring; \(remedy)", cause: error)
        case is NIOHTTP2Errors.PushInViolationOfSetting:
            return LoadError(.badResponse, message: "\(key) pushed a response though that is off (RFC 9113 §8.4); \(remedy)", cause: error)
        case is NIOHTTP2Errors.FlowControlViolation:
            return LoadError(.badResponse, message: "\(key) sent more than it was allowed to (RFC 9113 §6.9); \(remedy)", cause: error)
        case is NIOHTTP2Errors.TrailersWithoutEndStream: return HTTP2ResponseError(.openTrailers).loadError
        case is any NIOHPACKError:
            return LoadError(
                .badResponse, message: "the fields of a response from \(key) are not coded as HPACK has it (RFC 7541); \(remedy)",
                cause: error)
        case is any NIOHTTP2Error where !isGreeted:
            return LoadError(.badResponse, message: "\(key) does not answer in HTTP/2; check the port, or ask for HTTP/1.1", cause: error)
        case is any NIOHTTP2Error:
            return LoadError(.badResponse, message: "\(key) breaks the rules of HTTP/2 (RFC 9113); \(remedy)", cause: error)
        // Of what carries the connection.
        default: return cutOff(key, error)
        }
    }
}
