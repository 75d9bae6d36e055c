// SPDX-License-Identifier: Apache-2.0

internal import CPortolanZlib

/// Decodes gzip or deflate, piece by piece, into the caller's memory.
///
/// - gzip (RFC 1952): one or more members. The checksum and length of each member are verified. Data after the last
///   member is ignored, as in browsers and in `gzip(1)`, which warns. All contents have been verified by then, and
///   zeros as padding are common. Data that begins with the first two bytes of a member is a further member, and must
///   be complete.
/// - deflate: the format of RFC 9110 §8.4.1.2 (RFC 1950), or a raw DEFLATE stream (RFC 1951), which some servers send
///   under that name. The first two bytes distinguish them: an RFC 1950 header is a multiple of 31 and names the method
///   8. A raw stream that looks like such a header would begin with a stored block and padding that is not zero, which
///   no encoder writes. Data after the stream is ignored.
///
/// Empty input is valid and has no contents. The decoder uses about 40 KiB after its first input.
///
/// Source: `inflateInit2` and `inflate` in zlib.h.
@safe
package struct Inflater: ~Copyable {  // … because it owns the stream, which never moves, and zlib borrows memory for one call only
    package enum Format: Sendable {
        case gzip, deflate
    }

    private enum State {
        case atStart
        /// This first byte of a deflate stream was consumed and not given to zlib. The next byte decides the format.
        case afterFirstByte(UInt8)
        case inStream
        case betweenMembers
        /// After a member, the first byte of another member's header arrived.
        case afterMemberByte
        /// All further input is ignored.
        case afterEnd
        case failed(InflateError)
    }

    private static let gzipMagicBytes: (UInt8, UInt8) = (0x1F, 0x8B)
    // zlib's notation for the window of 32 KiB: positive for RFC 1950, negative for RFC 1951, and 16 more for RFC 1952.
    private static let zlibWindow: Int32 = 15
    private static let rawWindow: Int32 = -15
    private static let gzipWindow: Int32 = 15 + 16

    private let format: Format
    private let stream: UnsafeMutablePointer<z_stream>
    private var state = State.atStart
    /// The total number of input bytes that were consumed.
    private(set) var consumedCount: Int64 = 0

    package init(_ format: Format) {
        self.format = format
        unsafe stream = .allocate(capacity: 1)
        unsafe stream.initialize(to: z_stream())
        if unsafe portolan_inflate_init(stream, Self.gzipWindow) != Z_OK { state = .failed(.noMemory) }
    }

    deinit {
        _ = unsafe inflateEnd(stream)
        unsafe stream.deallocate()
    }

    /// Whether the coded data can end here.
    package var canEnd: Bool {
        switch state {
        case .atStart, .betweenMembers, .afterMemberByte, .afterEnd: true
        case .afterFirstByte, .inStream, .failed: false
        }
    }

    /// Decodes until `input` is consumed or `output` is full. Call it again until it neither consumes nor writes bytes,
    /// because output may be pending after all input was consumed.
    ///
    /// - Returns: the number of bytes of `input` that were consumed.
    /// - Throws: the error, at this and every later call, but only after all output before it was returned.
    package mutating func inflate(_ input: borrowing RawSpan, into output: inout OutputRawSpan) throws(InflateError) -> Int {
        let initialCount = output.byteCount
        var inputPosition = 0
        defer { consumedCount += Int64(inputPosition) }
        while true {
            switch state {
            case .inStream:
                inputPosition += unsafe input.extracting(inputPosition...).withUnsafeBytes { unsafe run($0, into: &output) }
                if case .inStream = state { return inputPosition }
            case .failed(let error):
                guard output.byteCount > initialCount else { throw error }
                return inputPosition
            case .afterEnd:
                inputPosition = input.byteCount
                return inputPosition
            case .atStart, .afterFirstByte, .betweenMembers, .afterMemberByte:
                guard inputPosition < input.byteCount else { return inputPosition }
                if consume(unsafe input.unsafeLoad(fromUncheckedByteOffset: inputPosition, as: UInt8.self), into: &output) {
                    inputPosition += 1
                }
            }
        }
    }

    /// Selects the next state from one byte outside of a stream.
    ///
    /// - Returns: whether the byte was consumed. Otherwise it must be examined again.
    private mutating func consume(_ byte: UInt8, into output: inout OutputRawSpan) -> Bool {
        switch state {
        case .atStart:
            switch format {
            case .gzip: state = .inStream
            case .deflate where byte & 0x0F == 8:
                state = .afterFirstByte(byte)
                return true
            case .deflate: beginStream(window: Self.rawWindow)
            }
        case .afterFirstByte(let first):
            let isHeader = first >> 4 <= 7 && (UInt16(first) << 8 | UInt16(byte)) % 31 == 0
            beginStream(window: isHeader ? Self.zlibWindow : Self.rawWindow, with: first, into: &output)
        case .betweenMembers:
            state = byte == Self.gzipMagicBytes.0 ? .afterMemberByte : .afterEnd
            return true
        case .afterMemberByte where byte == Self.gzipMagicBytes.1:
            beginStream(window: Self.gzipWindow, with: Self.gzipMagicBytes.0, into: &output)
        case .afterMemberByte: state = .afterEnd
        case .inStream, .afterEnd, .failed: break
        }
        return false
    }

    // MARK: zlib

    private mutating func beginStream(window: Int32) {
        state = unsafe inflateReset2(stream, window) == Z_OK ? .inStream : .failed(.noMemory)
    }

    /// Begins a stream with a byte that was buffered.
    private mutating func beginStream(window: Int32, with byte: UInt8, into output: inout OutputRawSpan) {
        beginStream(window: window)
        guard case .inStream = state else { return }
        _ = unsafe withUnsafeBytes(of: byte) { unsafe run($0, into: &output) }
    }

    /// - Returns: the number of bytes that zlib consumed.
    private mutating func run(_ input: UnsafeRawBufferPointer, into output: inout OutputRawSpan) -> Int {
        // zlib counts in 32 bits.
        let inputCount = UInt32(clamping: input.count)
        unsafe stream.pointee.next_in = input.baseAddress?.assumingMemoryBound(to: UInt8.self)
        unsafe stream.pointee.avail_in = inputCount
        let status = unsafe output.withUnsafeMutableBytes { memory, count in
            let freeCount = UInt32(clamping: memory.count - count)
            // Not nil even if there is no room, because zlib treats nil as misuse.
            unsafe stream.pointee.next_out = memory.baseAddress.map { unsafe ($0 + count).assumingMemoryBound(to: UInt8.self) }
            unsafe stream.pointee.avail_out = freeCount
            let status = unsafe CPortolanZlib.inflate(stream, Z_NO_FLUSH)
            unsafe count += Int(freeCount - stream.pointee.avail_out)
            return status
        }
        switch status {
        case Z_OK, Z_BUF_ERROR: break  // Z_BUF_ERROR: no progress is possible without more input or room
        case Z_STREAM_END: state = format == .gzip ? .betweenMembers : .afterEnd
        case Z_MEM_ERROR: state = .failed(.noMemory)
        case Z_NEED_DICT: state = .failed(.malformed("a preset dictionary is needed"))
        default: state = .failed(.malformed(unsafe stream.pointee.msg.map { unsafe String(cString: $0) } ?? "incorrect data"))
        }
        return unsafe Int(inputCount - stream.pointee.avail_in)
    }
}
