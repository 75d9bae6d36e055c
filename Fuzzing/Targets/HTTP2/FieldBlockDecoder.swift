// SPDX-License-Identifier: Apache-2.0

import CPortolanNGHTTP2

/// Decodes the HPACK field blocks of a connection, one after the other, with nghttp2.
///
/// Source: `nghttp2_hd_inflate_hd2` in nghttp2.h
@safe
final class FieldBlockDecoder {  // … because it owns the inflater, whose fields are copied before the next call
    private var inflater: OpaquePointer?

    init() { unsafe _ = nghttp2_hd_inflate_new(&inflater) }

    deinit { unsafe nghttp2_hd_inflate_del(inflater) }

    /// - Returns: The name and value of each field, in ISO-8859-1; `nil` if the block is invalid HPACK.
    func decode(_ block: [UInt8]) -> [[String]]? {
        var fields: [[String]] = []
        let isDecoded = unsafe block.withUnsafeBufferPointer { bytes in
            guard let start = bytes.baseAddress else { return true }
            var offset = 0
            while true {
                var field = unsafe nghttp2_nv()
                var flags: Int32 = 0
                let count = unsafe nghttp2_hd_inflate_hd2(inflater, &field, &flags, start + offset, bytes.count - offset, 1)
                guard count >= 0 else { return false }
                offset += count
                if flags & Int32(NGHTTP2_HD_INFLATE_EMIT.rawValue) != 0 {
                    fields.append([
                        unsafe Self.text(UnsafeBufferPointer(start: field.name, count: field.namelen)),
                        unsafe Self.text(UnsafeBufferPointer(start: field.value, count: field.valuelen)),
                    ])
                }
                if flags & Int32(NGHTTP2_HD_INFLATE_FINAL.rawValue) != 0 { return true }
            }
        }
        unsafe nghttp2_hd_inflate_end_headers(inflater)
        return isDecoded ? fields : nil
    }

    private static func text(_ bytes: UnsafeBufferPointer<UInt8>) -> String {
        var text = String.UnicodeScalarView()
        text.append(contentsOf: unsafe bytes.map { Unicode.Scalar($0) })
        return String(text)
    }
}
