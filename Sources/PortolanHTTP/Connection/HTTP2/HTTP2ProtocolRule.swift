// SPDX-License-Identifier: Apache-2.0

/// The rule of HTTP/2 that a server broke, with its text for error messages.
enum HTTP2ProtocolRule: Equatable {
    case fieldSectionTooLarge
    case tooManyFrames
    case hpack
    case push
    case flowControl
    case windowUpdate
    case settings
    case preface
    case streamState
    case serverStream
    case goAway
    case frameLength
    case frame
    case other

    /// What the user can do, as a clause.
    static let remedy = "the server, or a proxy in front of it, must be fixed; ask for HTTP/1.1 meanwhile"

    /// Derives the rule from a violation that nghttp2 reports.
    ///
    /// - Parameters:
    ///   - violation: `nil` if nghttp2 does not name the frame, as for errors of a frame's length or padding, and of
    ///     HPACK.
    ///   - code: the code that the server receives in RST_STREAM or GOAWAY.
    init(_ violation: HTTP2Violation?, _ code: HTTP2ErrorCode) {
        switch violation?.error {
        case .flooded?, .tooManySettings?: self = .tooManyFrames
        case .tooManyContinuations?, .callback?: self = .fieldSectionTooLarge
        case .headerCompression?: self = .hpack
        case .settingsExpected?: self = .preface
        case .frameSize?: self = .frameLength
        case .protocolError?, .streamClosed?, .flowControl?, .notStarted?, .noMemory?, .other?, nil:
            self = Self(code) ?? Self(violation?.frameType, code)
        }
    }

    /// Derives the rule from codes that have the same meaning for every frame.
    private init?(_ code: HTTP2ErrorCode) {
        switch code {
        case .compressionError: self = .hpack
        case .frameSizeError: self = .frameLength
        case .enhanceYourCalm: self = .tooManyFrames
        default: return nil
        }
    }

    private init(_ type: HTTP2Frame.FrameType?, _ code: HTTP2ErrorCode) {
        switch type {
        case .windowUpdate?: self = .windowUpdate
        case .settings? where code == .flowControlError: self = .windowUpdate
        case .settings?: self = .settings
        case .pushPromise?: self = .push
        case .goAway?: self = .goAway
        case .headers? where code == .protocolError: self = .serverStream
        default:
            switch code {
            case .flowControlError: self = .flowControl
            case .streamClosed: self = .streamState
            case .protocolError: self = .frame
            default: self = .other
            }
        }
    }

    /// The code for RST_STREAM or GOAWAY if Portolan, and not nghttp2, finds the violation.
    var errorCode: HTTP2ErrorCode {
        switch self {
        case .fieldSectionTooLarge, .tooManyFrames: .enhanceYourCalm
        case .hpack: .compressionError
        case .flowControl, .windowUpdate: .flowControlError
        case .streamState: .streamClosed
        case .frameLength: .frameSizeError
        case .push, .settings, .preface, .serverStream, .goAway, .frame, .other: .protocolError
        }
    }

    /// What the server did, as the second part of a sentence: "sent too many frames".
    var problem: String {
        switch self {
        case .fieldSectionTooLarge: "sent fields that take too many bytes"
        case .tooManyFrames: "sent too many frames without content"
        case .hpack: "sent fields that are not valid HPACK"
        case .push: "pushed a response, although push is disabled"
        case .flowControl: "sent more bytes than flow control allows"
        case .windowUpdate: "set an invalid window size"
        case .settings: "sent settings that a server may not send"
        case .preface: "did not start with a SETTINGS frame"
        case .streamState: "sent a frame on a stream that is not open for that frame"
        case .serverStream: "sent a frame on a stream that was never opened"
        case .goAway: "contradicted its earlier GOAWAY frame"
        case .frameLength: "sent a frame with a wrong length"
        case .frame: "sent a frame with wrong padding or in the wrong place"
        case .other: "broke a rule of HTTP/2"
        }
    }

    /// The section that contains the rule.
    var section: String {
        switch self {
        case .fieldSectionTooLarge: "RFC 9113 §10.5.1"
        case .tooManyFrames: "RFC 9113 §10.5"
        case .hpack: "RFC 7541"
        case .push: "RFC 9113 §8.4"
        case .flowControl: "RFC 9113 §6.9"
        case .windowUpdate: "RFC 9113 §6.9.1"
        case .settings: "RFC 9113 §6.5"
        case .preface: "RFC 9113 §3.4"
        case .streamState: "RFC 9113 §5.1"
        case .serverStream: "RFC 9113 §5.1.1"
        case .goAway: "RFC 9113 §6.8"
        case .frameLength: "RFC 9113 §4.2"
        case .frame: "RFC 9113 §6"
        case .other: "RFC 9113"
        }
    }
}
