// SPDX-License-Identifier: Apache-2.0

import CPortolanNGHTTP2

/// Decodes the field sections of a client.
///
/// Source: `nghttp2_hd_inflate_hd2` in nghttp2.h
@safe
final class HPACKDecoder {
    struct Field: Equatable {
        let name: String
        let value: [UInt8]
        /// Whether the client sent the field as a never-indexed literal (RFC 7541 §6.2.3).
        let isNeverIndexed: Bool

        var text: String { String(decoding: value, as: UTF8.self) }
    }

    struct DecodingError: Error {
        /// The error code of nghttp2.
        let code: Int
    }

    private var inflater: OpaquePointer?

    init() { unsafe _ = nghttp2_hd_inflate_new(&inflater) }

    deinit { unsafe nghttp2_hd_inflate_del(inflater) }

    /// - Parameter block: a whole field section, encoded with HPACK.
    func decode(_ block: [UInt8]) throws -> [Field] {
        var fields: [Field] = []
        try unsafe block.withUnsafeBufferPointer { bytes in
            guard let start = bytes.baseAddress else { return }
            var offset = 0
            while true {
                var field = unsafe nghttp2_nv()
                var flags: Int32 = 0
                let count = unsafe nghttp2_hd_inflate_hd2(inflater, &field, &flags, start + offset, bytes.count - offset, 1)
                guard count >= 0 else { throw DecodingError(code: count) }
                offset += count
                if flags & Int32(NGHTTP2_HD_INFLATE_EMIT.rawValue) != 0 {
                    let name = unsafe UnsafeBufferPointer(start: field.name, count: field.namelen)
                    let value = unsafe UnsafeBufferPointer(start: field.value, count: field.valuelen)
                    fields.append(
                        Field(
                            name: unsafe String(decoding: name, as: UTF8.self), value: unsafe Array(value),
                            isNeverIndexed: unsafe field.flags & UInt8(NGHTTP2_NV_FLAG_NO_INDEX.rawValue) != 0))
                }
                if flags & Int32(NGHTTP2_HD_INFLATE_FINAL.rawValue) != 0 { break }
            }
        }
        unsafe nghttp2_hd_inflate_end_headers(inflater)
        return fields
    }
}
