// SPDX-License-Identifier: Apache-2.0

import NIOHPACK
import NIOHTTP2

/// The rule of HTTP/2 that a server broke, as far as SwiftNIO's errors tell: they name its types and the lines of its source, and are not for
/// the caller of a load.
enum HTTP2Breach: Equatable {
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

    /// How to mend it, as a clause.
    static let remedy = "the server, or a proxy before it, has to be mended; ask for HTTP/1.1 meanwhile"

    /// `nil` for what is no error of HTTP/2.
    ///
    /// - Parameter code: what the server was told of it. SwiftNIO has one error for a frame that can't be read and for fields that can't be decoded; only
    ///   the code tells them apart.
    init?(_ error: any Error, _ code: HTTP2ErrorCode?) {
        switch error {
        case is NIOHTTP2Errors.ExcessivelyLargeHeaderBlock, is NIOHPACKErrors.MaxHeaderListSizeViolation,
            is NIOHTTP2Errors.ExcessiveContinuationFrames:
            self = .fieldSectionTooLarge
        case is NIOHTTP2Errors.ExcessiveControlFrames, is NIOHTTP2Errors.ExcessiveEmptyDataFrames, is NIOHTTP2Errors.ExcessiveRSTFrames,
            is NIOHTTP2Errors.ExcessiveStreamErrors, is NIOHTTP2Errors.ExcessiveNumberOfGlitches,
            is NIOHTTP2Errors.ExcessiveOutboundFrameBuffering:
            self = .tooManyFrames
        case is any NIOHPACKError: self = .hpack
        case is NIOHTTP2Errors.PushInViolationOfSetting: self = .push
        case is NIOHTTP2Errors.FlowControlViolation: self = .flowControl
        case is NIOHTTP2Errors.InvalidFlowControlWindowSize, is NIOHTTP2Errors.InvalidWindowIncrementSize: self = .windowUpdate
        case is NIOHTTP2Errors.InvalidSetting, is NIOHTTP2Errors.ReceivedBadSettings: self = .settings
        case is NIOHTTP2Errors.MissingPreface: self = .preface
        case is NIOHTTP2Errors.BadStreamStateTransition, is NIOHTTP2Errors.StreamClosed: self = .streamState
        case is NIOHTTP2Errors.NoSuchStream, is NIOHTTP2Errors.StreamIDTooSmall, is NIOHTTP2Errors.InvalidStreamIDForPeer,
            is NIOHTTP2Errors.MaxStreamsViolation:
            self = .serverStream
        case is NIOHTTP2Errors.RaisedGoawayLastStreamID, is NIOHTTP2Errors.CreatedStreamAfterGoaway: self = .goAway
        case is NIOHTTP2Errors.UnableToParseFrame:
            switch code {
            case .compressionError?: self = .hpack
            case .frameSizeError?: self = .frameLength
            default: self = .frame
            }
        case is any NIOHTTP2Error: self = .other
        default: return nil
        }
    }

    /// What the server did, as a clause without its subject.
    var problem: String {
        switch self {
        case .fieldSectionTooLarge: "sent fields that take too many bytes"
        case .tooManyFrames: "sent more frames without content than a connection may bring"
        case .hpack: "coded the fields of a response otherwise than HPACK has it"
        case .push: "pushed a response though that is off"
        case .flowControl: "sent more than it was allowed to"
        case .windowUpdate: "gave a window of a size that no window has"
        case .settings: "sent settings that no server may send"
        case .preface: "did not begin with its settings"
        case .streamState: "sent a frame on a stream that was not open for it"
        case .serverStream: "sent a frame on a stream that nobody had opened"
        case .goAway: "took back what it had said of its end"
        case .frameLength: "sent a frame whose length is wrong"
        case .frame: "sent a frame whose padding or place is wrong"
        case .other: "broke a rule of HTTP/2"
        }
    }

    /// Where the rule stands.
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
