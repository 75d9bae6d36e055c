// SPDX-License-Identifier: Apache-2.0

import NIOCore
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

    /// The server ended the connection with `GOAWAY`, and says that it did not process the request.
    static func passedOver(by key: ConnectionKey, _ code: HTTP2ErrorCode) -> LoadError {
        LoadError(
            .connectionLost, message: "\(key) ended the connection with GOAWAY (\(code.name)) and did not complete the response; try again")
    }

    /// The server has said that it serves no request at all on the connection, and nothing else since.
    static func allowsNoStream(_ key: ConnectionKey, after time: TimeAmount) -> LoadError {
        LoadError(
            .timedOut,
            message: "\(key) allowed no request for \(Duration.nanoseconds(time.nanoseconds)) (SETTINGS_MAX_CONCURRENT_STREAMS is 0, "
                + "RFC 9113 §6.5.2); try later, or ask for HTTP/1.1")
    }

    /// What the peer did on a connection, or on a stream, that ends it.
    ///
    /// - Parameters:
    ///   - code: what the server was told of it; `nil` where it was told nothing.
    ///   - isGreeted: whether the server has shown that it speaks HTTP/2 at all.
    static func http2(_ error: any Error, _ code: HTTP2ErrorCode?, from key: ConnectionKey, isGreeted: Bool = true) -> LoadError {
        switch error {
        case let error as LoadError: return error
        case let error as NIOHTTP2Errors.StreamError: return http2(error.baseError, code, from: key)
        case is NIOHTTP2Errors.TrailersWithoutEndStream: return HTTP2ResponseError(.openTrailers).loadError
        default: break
        }
        // Of what carries the connection.
        guard let breach = HTTP2Breach(error, code) else { return cutOff(key, error) }
        let name = code.map { "\($0.name), " } ?? ""
        switch breach {
        case .fieldSectionTooLarge:
            return LoadError(
                .limitExceeded,
                message: "the fields of a response from \(key) take too many bytes (\(name)\(breach.section))",
                remedy: .raiseLimit("HTTPLimits.fieldSection"))
        case .tooManyFrames:
            return LoadError(.limitExceeded, message: "\(key) \(breach.problem) (\(name)\(breach.section)); \(HTTP2Breach.remedy)")
        case .hpack, .push, .flowControl, .windowUpdate, .settings, .preface, .streamState, .serverStream, .goAway, .frameLength,
            .frame, .other:
            guard isGreeted || breach == .hpack else {
                return LoadError(.badResponse, message: "\(key) does not answer in HTTP/2; check the port, or ask for HTTP/1.1")
            }
            return LoadError(.badResponse, message: "\(key) \(breach.problem) (\(name)\(breach.section)); \(HTTP2Breach.remedy)")
        }
    }
}
