// SPDX-License-Identifier: Apache-2.0

/// Finds the frame headers in a peer's bytes. A pure state machine.
///
/// It is needed for ``HTTP2FloodLimit``, because nghttp2 does not report frames that it ignores: unknown types, and
/// frames of closed streams.
///
/// RFC 9113 §4.1
struct HTTP2FrameScanner {
    /// A frame whose header is complete.
    struct ScannedFrame: Equatable {
        let frame: HTTP2Frame
        /// For DATA, the number of content bytes without padding.
        let contentLength: Int
        /// The start of the frame in the input; 0 if it began in an earlier input.
        let start: Int
    }

    static let headerLength = 9

    /// The received part of a frame header. For padded DATA it includes the padding length.
    private var header: [UInt8] = []
    /// The number of payload bytes of the current frame that have not arrived.
    private var remainingPayload = 0

    /// A padded DATA frame, if its header has arrived, but not its padding length.
    var frameAwaitingPadding: HTTP2Frame? { header.count == Self.headerLength ? frame : nil }

    init() { header.reserveCapacity(Self.headerLength + 1) }

    /// Returns the next frame whose header is complete, and advances `offset` past that header.
    mutating func next(in input: borrowing RawSpan, from offset: inout Int) -> ScannedFrame? {
        let skipped = min(remainingPayload, input.byteCount - offset)
        offset += skipped
        remainingPayload -= skipped
        let start = header.isEmpty ? offset : 0
        while offset < input.byteCount {
            header.append(unsafe input.unsafeLoad(fromUncheckedByteOffset: offset, as: UInt8.self))
            offset += 1
            guard header.count >= Self.headerLength else { continue }
            let frame = frame
            let isPadded = frame.type == .data && frame.isPadded && frame.length > 0
            guard !isPadded || header.count > Self.headerLength else { continue }
            let padding = isPadded ? 1 + Int(header[Self.headerLength]) : 0
            remainingPayload = frame.length - (header.count - Self.headerLength)
            header.removeAll(keepingCapacity: true)
            return ScannedFrame(frame: frame, contentLength: max(0, frame.length - padding), start: start)
        }
        return nil
    }

    private var frame: HTTP2Frame {
        let stream = header[5..<9].reduce(0) { $0 << 8 | UInt32($1) } & 0x7FFF_FFFF
        return HTTP2Frame(
            type: HTTP2Frame.FrameType(rawValue: header[3]), flags: header[4], stream: Int32(stream),
            length: header[..<3].reduce(0) { $0 << 8 | Int($1) })
    }
}
