// SPDX-License-Identifier: Apache-2.0

import PortolanCore

extension LoadError {
    /// The server ended the stream with `RST_STREAM`.
    static func reset(by key: ConnectionKey, _ code: HTTP2ErrorCode) -> LoadError {
        let remedy =
            switch code {
            case .refusedStream, .enhanceYourCalm: "try again later, or send fewer requests at the same time"
            case .http11Required: "ask for HTTP/1.1"
            default: "try again, or ask for HTTP/1.1"
            }
        return LoadError(.connectionLost, message: "\(key) reset the stream with \(code.name); \(remedy)")
    }

    /// The server ended the connection with `GOAWAY`, and reported that it did not process the request.
    static func notProcessed(by key: ConnectionKey, _ code: HTTP2ErrorCode) -> LoadError {
        LoadError(
            .connectionLost, message: "\(key) ended the connection with GOAWAY (\(code.name)) and did not complete the response; try again")
    }

    /// The server allowed no stream on the connection during `time`.
    static func allowsNoStream(_ key: ConnectionKey, after time: Duration) -> LoadError {
        LoadError(
            .timedOut,
            message: "\(key) allowed no request for \(time) (SETTINGS_MAX_CONCURRENT_STREAMS is 0, "
                + "RFC 9113 §6.5.2); try again later, or ask for HTTP/1.1")
    }

    /// The server broke a rule of HTTP/2, so the connection or the stream has ended.
    ///
    /// - Parameters:
    ///   - code: the code that the server received in GOAWAY or RST_STREAM.
    ///   - hasReceivedSettings: whether the server has sent a SETTINGS frame, and so speaks HTTP/2.
    static func http2(_ violation: HTTP2ProtocolRule, _ code: HTTP2ErrorCode, from key: ConnectionKey, hasReceivedSettings: Bool = true)
        -> LoadError
    {
        switch violation {
        case .fieldSectionTooLarge:
            return LoadError(
                .limitExceeded,
                message: "the fields of a response from \(key) take too many bytes (\(code.name), \(violation.section))",
                remedy: .raiseLimit("HTTPLimits.maximumFieldSectionBytes"))
        case .tooManyFrames:
            return LoadError(
                .limitExceeded, message: "\(key) \(violation.problem) (\(code.name), \(violation.section)); \(HTTP2ProtocolRule.remedy)")
        case .hpack, .push, .flowControl, .windowUpdate, .settings, .preface, .streamState, .serverStream, .goAway, .frameLength,
            .frame, .other:
            guard hasReceivedSettings else {
                return LoadError(.badResponse, message: "\(key) does not speak HTTP/2; check the port, or ask for HTTP/1.1")
            }
            return LoadError(
                .badResponse, message: "\(key) \(violation.problem) (\(code.name), \(violation.section)); \(HTTP2ProtocolRule.remedy)")
        }
    }

    /// nghttp2 dropped the HEADERS frame of the request.
    static func notSent(to key: ConnectionKey, _ error: HTTP2LibraryError) -> LoadError {
        switch error {
        case .frameSize: LoadError(.badRequest, message: "the fields of the request to \(key) take too many bytes to be sent; send fewer")
        case .notStarted: notProcessed(by: key, .noError)
        default: LoadError(.connectionLost, message: "the request could not be sent to \(key) over HTTP/2; try again, or ask for HTTP/1.1")
        }
    }
}
