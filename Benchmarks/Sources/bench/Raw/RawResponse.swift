// SPDX-License-Identifier: Apache-2.0

import CLinux
import CTally
import Glibc

/// The minimal HTTP/1.1 parser of the raw loops. It expects a head that ends with an empty line, arrives whole with the
/// first read, and has the length of the body in nginx's spelling. It ignores everything else.
struct RawResponse {
    private(set) var tally = bench_tally()
    private var left: Int?

    /// Consumes the next bytes.
    ///
    /// - Returns: Whether the response is complete.
    mutating func take(_ bytes: UnsafeRawBufferPointer) throws -> Bool {
        guard let left else { return unsafe try takeHead(bytes) }
        unsafe takeBody(bytes, of: left)
        return self.left == 0
    }

    private mutating func takeHead(_ bytes: UnsafeRawBufferPointer) throws -> Bool {
        guard let start = bytes.baseAddress, let end = unsafe bench_find(start, bytes.count, "\r\n\r\n"),
            let length = unsafe bench_find(start, end - start, "Content-Length: ")
        else { throw Missing("raw: nginx's head arrived in several pieces, or has no Content-Length") }
        let left = unsafe strtol((length + 16).assumingMemoryBound(to: CChar.self), nil, 10)
        let headSize = unsafe end + 4 - start
        unsafe takeBody(UnsafeRawBufferPointer(rebasing: bytes[headSize...]), of: left)
        return self.left == 0
    }

    private mutating func takeBody(_ bytes: UnsafeRawBufferPointer, of left: Int) {
        unsafe bench_tally_add(&tally, bytes.baseAddress, bytes.count)
        self.left = left - bytes.count
    }
}
