// SPDX-License-Identifier: Apache-2.0

public import PortolanCore

/// Reads a `data:` URL: its MIME type at once, its body in pieces.
///
/// Making a decoder judges the whole URL, so that the length is exact and no byte is given out of a body that turns out malformed.
/// After that the caller takes pieces whenever it likes; between them the decoder holds the URL and a few words, no buffer.
///
///     var decoder = try DataURLDecoder(parsing: "data:;base64,SGVsbG8")
///     var bytes = [UInt8](repeating: 0, count: min(decoder.remaining, 65_536))
///     while decoder.remaining > 0 {
///         var buffer = bytes.mutableSpan
///         let count = decoder.decode(into: &buffer)
///         // … bytes[..<count] is the next piece; one may stop here, and go on later
///     }
///
/// A value type: a copy goes on by itself from where it was copied. No locks, no allocation besides the MIME type's.
///
/// Source: WHATWG Fetch, `data:` URL processor.
public struct DataURLDecoder: Sendable {
    /// What the URL says its body is; `text/plain;charset=US-ASCII` if it says nothing, or nothing legal.
    public let mimeType: MIMEType

    /// How many bytes the body has.
    public let length: Int

    private let url: String
    private var body: Body

    /// How the body is written.
    private enum Body {
        /// The bytes in this range of the URL, which shrinks from the front.
        case verbatim(Range<Int>)
        case percentEncoded(PercentDecoder, remaining: Int)
        case base64(Base64Decoder)
    }

    /// Judges the URL, in one pass over it.
    ///
    /// - Parameters:
    ///   - url: A serialised URL with the scheme `data`. It is kept until the decoder is gone.
    ///   - fragmentOffset: How many bytes of the URL's UTF-8 come before the `#` of its fragment; `nil` if it has no fragment. The offset saves
    ///     the caller from copying a long URL only to be rid of the fragment.
    /// - Throws: What is wrong with the URL and where.
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

    /// How many bytes have not been given out yet.
    public var remaining: Int {
        switch body {
        case .verbatim(let range): range.count
        case .percentEncoded(_, let remaining): remaining
        case .base64(let decoder): decoder.remaining
        }
    }

    /// Decodes the next bytes of the body into the buffer.
    ///
    /// - Parameter buffer: Where the bytes go, from its start. What lies after them may be overwritten too.
    /// - Returns: How many bytes were decoded: the size of the buffer or `remaining`, whichever is less; 0 after the end.
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

    /// Takes the next bytes of a body that stands in the URL as it is, neither base64 nor percent-encoded, without copying them.
    ///
    /// - Parameter count: How many bytes to take at most.
    /// - Returns: Where in the URL's UTF-8 the bytes lie, an empty range after the end; `nil` if the body has to be decoded.
    public mutating func takeVerbatim(upTo count: Int) -> Range<Int>? {
        guard case .verbatim(let range) = body else { return nil }
        let taken = range.prefix(max(count, 0))
        body = .verbatim(range.dropFirst(taken.count))
        return taken
    }

    private static func copy(_ bytes: Span<UInt8>, into buffer: inout MutableSpan<UInt8>) {
        unsafe buffer.withUnsafeMutableBytes { target in
            unsafe bytes.withUnsafeBytes { unsafe target.copyMemory(from: $0) }
        }
    }
}
