// SPDX-License-Identifier: Apache-2.0

import CLinux
import CTally
import Glibc

/// The minimal HTTP/1.1 parser of the raw loops. The first read must contain the complete head, with a `Content-Length`
/// field in the spelling of nginx. The parser ignores everything else.
struct RawResponse {
    private(set) var tally = bench_tally()
    private var remainingLength: Int?

    /// Consumes the next bytes.
    ///
    /// - Returns: whether the response is complete.
    mutating func consume(_ bytes: UnsafeRawBufferPointer) throws -> Bool {
        guard let remainingLength else { return unsafe try consumeHead(bytes) }
        unsafe consumeBody(bytes, of: remainingLength)
        return self.remainingLength == 0
    }

    private mutating func consumeHead(_ bytes: UnsafeRawBufferPointer) throws -> Bool {
        guard let start = bytes.baseAddress, let end = unsafe bench_find(start, bytes.count, "\r\n\r\n"),
            let length = unsafe bench_find(start, end - start, "Content-Length: ")
        else { throw MeasurementError("raw: nginx's head arrived in several pieces, or has no Content-Length") }
        let remainingLength = unsafe strtol((length + 16).assumingMemoryBound(to: CChar.self), nil, 10)
        let headSize = unsafe end + 4 - start
        unsafe consumeBody(UnsafeRawBufferPointer(rebasing: bytes[headSize...]), of: remainingLength)
        return self.remainingLength == 0
    }

    private mutating func consumeBody(_ bytes: UnsafeRawBufferPointer, of remainingLength: Int) {
        unsafe bench_tally_add(&tally, bytes.baseAddress, bytes.count)
        self.remainingLength = remainingLength - bytes.count
    }
}
