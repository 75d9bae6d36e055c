// SPDX-License-Identifier: Apache-2.0

import CPortolanZlib

/// Compresses with the bundled zlib. The tests decode the results.
enum Zlib {
    /// The format around the DEFLATE stream. The raw values are the `windowBits` argument of zlib's `deflateInit2`.
    enum Wrapping: Int32, CaseIterable {
        case raw = -15
        case zlib = 15
        case gzip = 31

        /// The name of the HTTP content coding.
        var contentCoding: String { self == .gzip ? "gzip" : "deflate" }
    }

    /// Returns the compressed contents, or an empty array if zlib refuses the parameters.
    static func compress(_ contents: [UInt8], _ wrapping: Wrapping, level: Int32 = 6, strategy: Int32 = Z_DEFAULT_STRATEGY) -> [UInt8] {
        var stream = unsafe z_stream()
        var input = contents
        let size = unsafe Int32(MemoryLayout<z_stream>.size)
        guard unsafe deflateInit2_(&stream, level, Z_DEFLATED, wrapping.rawValue, 8, strategy, ZLIB_VERSION, size) == Z_OK else {
            return []
        }
        var output = [UInt8](repeating: 0, count: unsafe Int(deflateBound(&stream, UInt(input.count))) + 32)
        let (outputCapacity, inputCount) = (UInt32(output.count), UInt32(input.count))
        let outputCount = unsafe input.withUnsafeMutableBufferPointer { source in
            unsafe output.withUnsafeMutableBufferPointer { target in
                unsafe stream.next_in = UnsafePointer(source.baseAddress)
                unsafe stream.avail_in = inputCount
                unsafe stream.next_out = target.baseAddress
                unsafe stream.avail_out = outputCapacity
                _ = unsafe deflate(&stream, Z_FINISH)
                return unsafe Int(outputCapacity - stream.avail_out)
            }
        }
        _ = unsafe deflateEnd(&stream)
        return Array(output.prefix(outputCount))
    }
}
