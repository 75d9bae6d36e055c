// SPDX-License-Identifier: Apache-2.0

// The raw loop "zlib": the read loop of ReadLoop.swift passes each piece to inflate(3), whose output goes into one
// buffer of 256 KiB. The tally is taken of that buffer whenever it is full, and at the end. zlib checks the CRC, as it
// does for the plugin.

import CPortolanZlib
import CTally

enum Inflate {
    private static let outputSize = 256 << 10

    static var version: String { unsafe String(cString: zlibVersion()) }

    static func load(_ path: String) throws -> bench_tally {
        var tally = bench_tally()
        var stream = unsafe z_stream()
        try check(unsafe portolan_inflate_init(&stream, 15 + 32), path)
        defer { unsafe inflateEnd(&stream) }
        let output = UnsafeMutableRawBufferPointer.allocate(byteCount: outputSize, alignment: 4096)
        defer { unsafe output.deallocate() }
        var isComplete = false
        try unsafe ReadLoop.read(path) { piece in
            unsafe stream.next_in = piece.baseAddress?.assumingMemoryBound(to: UInt8.self)
            unsafe stream.avail_in = UInt32(piece.count)
            repeat {
                unsafe stream.next_out = output.baseAddress?.assumingMemoryBound(to: UInt8.self)
                unsafe stream.avail_out = UInt32(outputSize)
                let code = unsafe inflate(&stream, Z_NO_FLUSH)
                isComplete = code == Z_STREAM_END
                if code != Z_BUF_ERROR, !isComplete { try check(code, path) }
                unsafe bench_tally_add(&tally, output.baseAddress, outputSize - Int(stream.avail_out))
            } while unsafe stream.avail_out == 0 && !isComplete
        }
        guard isComplete else { throw MeasurementError("zlib: \(path) is not a complete gzip file; delete it, and bench creates it again") }
        return tally
    }

    static func competitor(inflating path: String, amount: Int) -> Competitor {
        Competitor("zlib", amount: amount) { try load(path) }
    }

    private static func check(_ code: Int32, _ path: String) throws {
        guard code == Z_OK else { throw unsafe MeasurementError("zlib: \(path): \(String(cString: zError(code)))") }
    }
}
