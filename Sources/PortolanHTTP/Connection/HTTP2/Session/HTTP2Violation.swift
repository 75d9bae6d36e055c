// SPDX-License-Identifier: Apache-2.0

internal import CPortolanNGHTTP2

/// A violation of the protocol by the peer, as nghttp2 reports it.
struct HTTP2Violation: Equatable, Sendable {
    let error: HTTP2LibraryError
    /// The type of the frame that broke the rule; `nil` if nghttp2 names none.
    var frameType: HTTP2Frame.FrameType?
    /// The number of the stream; 0 for the connection.
    var stream: Int32 = 0
}

/// The errors of nghttp2 that Portolan distinguishes.
enum HTTP2LibraryError: Equatable, Sendable {
    /// A frame that the protocol forbids.
    case protocolError
    case streamClosed
    case frameSize
    case flowControl
    /// A field section that is not valid HPACK.
    case headerCompression
    case tooManyContinuations
    case tooManySettings
    /// nghttp2's queue of replies to the peer's frames is full.
    case flooded
    /// The first bytes of the peer are not a SETTINGS frame.
    case settingsExpected
    /// A callback returned an error.
    case callback
    /// The request was submitted after the peer's or the client's GOAWAY.
    case notStarted
    case noMemory
    case other(Int32)

    /// Maps `nghttp2_error`: nghttp2.h, "The error codes used in this library".
    init(_ code: Int32) {
        self =
            switch nghttp2_error(code) {
            case NGHTTP2_ERR_PROTO, NGHTTP2_ERR_INVALID_STREAM_ID, NGHTTP2_ERR_INVALID_STREAM_STATE, NGHTTP2_ERR_HTTP_HEADER,
                NGHTTP2_ERR_HTTP_MESSAGING, NGHTTP2_ERR_PUSH_DISABLED, NGHTTP2_ERR_REFUSED_STREAM:
                .protocolError
            case NGHTTP2_ERR_STREAM_CLOSED, NGHTTP2_ERR_STREAM_CLOSING, NGHTTP2_ERR_STREAM_SHUT_WR: .streamClosed
            case NGHTTP2_ERR_FRAME_SIZE_ERROR: .frameSize
            case NGHTTP2_ERR_FLOW_CONTROL: .flowControl
            case NGHTTP2_ERR_HEADER_COMP: .headerCompression
            case NGHTTP2_ERR_TOO_MANY_CONTINUATIONS: .tooManyContinuations
            case NGHTTP2_ERR_TOO_MANY_SETTINGS, NGHTTP2_ERR_TOO_MANY_INFLIGHT_SETTINGS: .tooManySettings
            case NGHTTP2_ERR_FLOODED: .flooded
            case NGHTTP2_ERR_SETTINGS_EXPECTED: .settingsExpected
            case NGHTTP2_ERR_CALLBACK_FAILURE: .callback
            case NGHTTP2_ERR_START_STREAM_NOT_ALLOWED, NGHTTP2_ERR_STREAM_ID_NOT_AVAILABLE, NGHTTP2_ERR_SESSION_CLOSING: .notStarted
            case NGHTTP2_ERR_NOMEM: .noMemory
            default: .other(code)
            }
    }

    /// The code that the peer receives in RST_STREAM or GOAWAY, as nghttp2 chooses it
    /// (`get_error_code_from_lib_error_code` in nghttp2_session.c).
    var errorCode: HTTP2ErrorCode {
        switch self {
        case .streamClosed: .streamClosed
        case .frameSize: .frameSizeError
        case .flowControl: .flowControlError
        case .headerCompression: .compressionError
        case .tooManyContinuations, .tooManySettings, .flooded, .callback: .enhanceYourCalm
        case .noMemory, .other: .internalError
        case .protocolError, .settingsExpected, .notStarted: .protocolError
        }
    }
}
