// SPDX-License-Identifier: Apache-2.0

public import PortolanCore

/// Decodes a `data:` URL. The MIME type is available immediately, and the body in pieces.
///
/// The initialiser validates the whole URL. The length is therefore exact, and no byte of a malformed body is returned.
/// After that, the caller requests pieces at any time. Between calls, the decoder holds the URL and its position, but
/// no buffer.
///
///     var decoder = try DataURLDecoder(parsing: "data:;base64,SGVsbG8")
///     var bytes = [UInt8](repeating: 0, count: min(decoder.remaining, 65_536))
///     while decoder.remaining > 0 {
///         var buffer = bytes.mutableSpan
///         let count = decoder.decode(into: &buffer)
///         // … bytes[..<count] is the next piece; decoding can stop here and continue later
///     }
///
/// A value type: a copy continues independently from the point of the copy. It has no locks, and allocates only the
/// MIME type.
///
/// Source: WHATWG Fetch, `data:` URL processor.
public struct DataURLDecoder: Sendable {
    /// The type of the body according to the URL; `text/plain;charset=US-ASCII` if the URL has no type or an invalid
    /// one.
    public let mimeType: MIMEType

    /// The number of bytes in the body.
    public let length: Int

    private let url: String
    private var body: Body

    /// The encoding of the body.
    private enum Body {
        /// The bytes in this range of the URL. The range shrinks from the front.
        case verbatim(Range<Int>)
        case percentEncoded(PercentDecoder, remaining: Int)
        case base64(Base64Decoder)
    }

    /// Validates the URL in one pass.
    ///
    /// - Parameters:
    ///   - url: A serialised URL with the scheme `data`. It is retained as long as the decoder exists.
    ///   - fragmentOffset: The number of UTF-8 bytes before the `#` of the URL's fragment; `nil` if it has no fragment.
    ///     The offset saves the caller from copying a long URL only to remove the fragment.
    /// - Throws: The fault in the URL and its position.
    /// - Complexity: O(*n*), *n* being the length of the URL.
    public init(parsing url: String, fragmentOffset: Int? = nil) throws(DataURLError) {
        let count = url.utf8.count
        let end = min(max(fragmentOffset ?? count, 0), count)
        let header = try DataURLHeader(parsing: url, upTo: end)
        let range = header.bodyStart..<end
        if header.isBase64 {
            let layout: Base64Layout
            do {
                layout = try Base64Layout(validating: Base64Text(range: range, isPercentEncoded: true), in: url.utf8.span)
            } catch {
                throw .malformedBase64(error)
            }
            length = layout.decodedCount
            body = .base64(Base64Decoder(layout))
        } else {
            length = PercentDecoder.decodedCount(of: range, in: url.utf8.span)
            // Each escape makes the body shorter than its text, so equal lengths mean that there is none.
            body = length == range.count ? .verbatim(range) : .percentEncoded(PercentDecoder(range), remaining: length)
        }
        mimeType = header.mimeType
        self.url = url
    }

    /// The number of bytes that were not returned yet.
    public var remaining: Int {
        switch body {
        case .verbatim(let range): range.count
        case .percentEncoded(_, let remaining): remaining
        case .base64(let decoder): decoder.remaining
        }
    }

    /// Decodes the next bytes of the body into the buffer.
    ///
    /// - Parameter buffer: Receives the bytes from its start. Bytes after them may be overwritten too.
    /// - Returns: The number of decoded bytes: the size of the buffer or `remaining`, whichever is less; 0 after the
    ///   end.
    public mutating func decode(into buffer: inout MutableSpan<UInt8>) -> Int {
        let bytes = url.utf8.span
        switch body {
        case .verbatim(let range):
            let count = min(range.count, buffer.count)
            Self.copy(bytes.extracting(range.prefix(count)), into: &buffer)
            body = .verbatim(range.dropFirst(count))
            return count
        case .percentEncoded(var decoder, let remaining):
            let count = decoder.decode(bytes, into: &buffer)
            body = .percentEncoded(decoder, remaining: remaining - count)
            return count
        case .base64(var decoder):
            let count = decoder.decode(bytes, into: &buffer)
            body = .base64(decoder)
            return count
        }
    }

    /// Takes the next bytes of a body that is neither base64 nor percent-encoded, without copying them.
    ///
    /// - Parameter count: The maximum number of bytes to take.
    /// - Returns: The range of the bytes in the URL's UTF-8, empty after the end; `nil` if the body must be decoded.
    public mutating func takeVerbatim(upTo count: Int) -> Range<Int>? {
        guard case .verbatim(let range) = body else { return nil }
        let takenRange = range.prefix(max(count, 0))
        body = .verbatim(range.dropFirst(takenRange.count))
        return takenRange
    }

    private static func copy(_ bytes: Span<UInt8>, into buffer: inout MutableSpan<UInt8>) {
        unsafe buffer.withUnsafeMutableBytes { target in
            unsafe bytes.withUnsafeBytes { unsafe target.copyMemory(from: $0) }
        }
    }
}
