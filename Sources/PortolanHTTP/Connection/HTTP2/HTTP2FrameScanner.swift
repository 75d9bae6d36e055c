// SPDX-License-Identifier: Apache-2.0

/// Finds the frames in what a peer sends, before anything looks at what they hold. A pure machine.
///
/// nghttp2 reports no frame that it ignores: unknown types, and frames of streams that are closed. They cost time all the same.
///
/// RFC 9113 §4.1
struct HTTP2FrameScanner {
    struct Found: Equatable {
        let frame: HTTP2Frame
        /// Of DATA: the bytes of content, without padding.
        let contentLength: Int
        /// Where the frame begins in the input; 0 where it began in an earlier one.
        let start: Int
    }

    static let headerLength = 9

    /// The header of a frame, and of padded DATA the length of its padding.
    private var header: [UInt8] = []
    /// Bytes of payload that are still to come.
    private var remaining = 0

    /// Of padded DATA, while nothing but the header has come.
    var frameAwaitingPadding: HTTP2Frame? { header.count == Self.headerLength ? frame : nil }

    init() { header.reserveCapacity(Self.headerLength + 1) }

    /// The next frame whose header is complete; `offset` is moved behind that header.
    mutating func next(in input: borrowing RawSpan, from offset: inout Int) -> Found? {
        let skipped = min(remaining, input.byteCount - offset)
        offset += skipped
        remaining -= skipped
        let start = header.isEmpty ? offset : 0
        while offset < input.byteCount {
            header.append(unsafe input.unsafeLoad(fromUncheckedByteOffset: offset, as: UInt8.self))
            offset += 1
            guard header.count >= Self.headerLength else { continue }
            let frame = frame
            let isPadded = frame.type == .data && frame.isPadded && frame.length > 0
            guard !isPadded || header.count > Self.headerLength else { continue }
            let padding = isPadded ? 1 + Int(header[Self.headerLength]) : 0
            remaining = frame.length - (header.count - Self.headerLength)
            header.removeAll(keepingCapacity: true)
            return Found(frame: frame, contentLength: max(0, frame.length - padding), start: start)
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
