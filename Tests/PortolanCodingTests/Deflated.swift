// SPDX-License-Identifier: Apache-2.0

import CPortolanZlib

/// Compression by zlib itself, for bodies that the tests decode.
enum Deflated {
    /// zlib's names for the format around the DEFLATE stream (`deflateInit2` in zlib.h).
    enum Wrapping: Int32, CaseIterable {
        case none = -15
        case zlib = 15
        case gzip = 31

        var coding: String { self == .gzip ? "gzip" : "deflate" }
    }

    static func make(_ contents: [UInt8], _ wrapping: Wrapping, level: Int32 = 6, strategy: Int32 = Z_DEFAULT_STRATEGY) -> [UInt8] {
        var stream = unsafe z_stream()
        var input = contents
        let size = unsafe Int32(MemoryLayout<z_stream>.size)
        guard unsafe deflateInit2_(&stream, level, Z_DEFLATED, wrapping.rawValue, 8, strategy, ZLIB_VERSION, size) == Z_OK else {
            return []
        }
        var output = [UInt8](repeating: 0, count: unsafe Int(deflateBound(&stream, UInt(input.count))) + 32)
        let (room, available) = (UInt32(output.count), UInt32(input.count))
        let written = unsafe input.withUnsafeMutableBufferPointer { source in
            unsafe output.withUnsafeMutableBufferPointer { target in
                unsafe stream.next_in = UnsafePointer(source.baseAddress)
                unsafe stream.avail_in = available
                unsafe stream.next_out = target.baseAddress
                unsafe stream.avail_out = room
                _ = unsafe deflate(&stream, Z_FINISH)
                return unsafe Int(room - stream.avail_out)
            }
        }
        _ = unsafe deflateEnd(&stream)
        return Array(output.prefix(written))
    }
}
