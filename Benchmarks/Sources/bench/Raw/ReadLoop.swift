// SPDX-License-Identifier: Apache-2.0

// The raw loop "read": open(2), then read(2) into one page-aligned buffer of 1 MiB (the size that PortolanFile uses)
// until the end, then close(2). The tally is taken of each piece in place. For small files it is one read(2) of the
// whole file.

import CTally
import Glibc

enum ReadLoop {
    static let name = "read"

    private static let bufferSize = 1 << 20

    static func load(_ path: String) throws -> bench_tally {
        var tally = bench_tally()
        try unsafe read(path) { piece in unsafe bench_tally_add(&tally, piece.baseAddress, piece.count) }
        return tally
    }

    /// Reads the file at `path`, and passes the borrowed bytes of each read to `handlePiece`.
    static func read(_ path: String, _ handlePiece: (UnsafeRawBufferPointer) throws -> Void) throws {
        let descriptor = unsafe open(path, O_RDONLY | O_CLOEXEC)
        guard descriptor >= 0 else { throw failure("open", path) }
        defer { close(descriptor) }
        let buffer = UnsafeMutableRawBufferPointer.allocate(byteCount: bufferSize, alignment: 4096)
        defer { unsafe buffer.deallocate() }
        while true {
            let count = unsafe Glibc.read(descriptor, buffer.baseAddress, bufferSize)
            guard count >= 0 else { throw failure("read", path) }
            if count == 0 { return }
            unsafe try handlePiece(UnsafeRawBufferPointer(rebasing: buffer[..<count]))
        }
    }

    static func competitor(reading path: String, times: Int = 1, amount: Int) -> Competitor {
        Competitor(name, amount: amount) {
            var tally = bench_tally()
            for _ in 0..<times { tally += try load(path) }
            return tally
        }
    }

    /// Opens, reads and closes a small file `times` times.
    static func competitor(reading path: String, size: Int, times: Int) -> Competitor {
        Competitor(name, amount: times) {
            var tally = bench_tally()
            let buffer = UnsafeMutableRawBufferPointer.allocate(byteCount: size, alignment: 16)
            defer { unsafe buffer.deallocate() }
            for _ in 0..<times {
                let descriptor = unsafe open(path, O_RDONLY | O_CLOEXEC)
                guard descriptor >= 0 else { throw failure("open", path) }
                defer { close(descriptor) }
                guard unsafe Glibc.read(descriptor, buffer.baseAddress, size) == size else { throw failure("read", path) }
                unsafe bench_tally_add(&tally, buffer.baseAddress, size)
            }
            return tally
        }
    }

    private static func failure(_ call: String, _ path: String) -> MeasurementError {
        unsafe MeasurementError("\(call) \(path): \(String(cString: strerror(errno)))")
    }
}
