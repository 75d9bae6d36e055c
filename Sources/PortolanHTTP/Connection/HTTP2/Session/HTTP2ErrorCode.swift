// SPDX-License-Identifier: Apache-2.0

/// The reason that a RST_STREAM or GOAWAY frame gives.
///
/// RFC 9113 §7
struct HTTP2ErrorCode: RawRepresentable, Hashable, Sendable {
    let rawValue: UInt32

    static let noError = Self(rawValue: 0x0)
    static let protocolError = Self(rawValue: 0x1)
    static let internalError = Self(rawValue: 0x2)
    static let flowControlError = Self(rawValue: 0x3)
    static let streamClosed = Self(rawValue: 0x5)
    static let frameSizeError = Self(rawValue: 0x6)
    static let refusedStream = Self(rawValue: 0x7)
    static let cancel = Self(rawValue: 0x8)
    static let compressionError = Self(rawValue: 0x9)
    static let enhanceYourCalm = Self(rawValue: 0xB)
    static let http11Required = Self(rawValue: 0xD)

    /// The name in the RFC. For a code that the RFC does not define, `error` and the number.
    var name: String {
        let names = [
            "NO_ERROR", "PROTOCOL_ERROR", "INTERNAL_ERROR", "FLOW_CONTROL_ERROR", "SETTINGS_TIMEOUT", "STREAM_CLOSED", "FRAME_SIZE_ERROR",
            "REFUSED_STREAM", "CANCEL", "COMPRESSION_ERROR", "CONNECT_ERROR", "ENHANCE_YOUR_CALM", "INADEQUATE_SECURITY",
            "HTTP_1_1_REQUIRED",
        ]
        return rawValue < names.count ? names[Int(rawValue)] : "error \(rawValue)"
    }
}
