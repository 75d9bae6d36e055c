// SPDX-License-Identifier: Apache-2.0

// The raw loops "pipe" and "socketpair": one thread writes pieces of 64 KiB with write(2), another reads them with
// read(2) into one page-aligned buffer of 64 KiB. The tally is taken of each piece in place.

import CPortolanLinux
import CTally
import Glibc
import PortolanCore

struct DescriptorLoop: Sendable {
    let name: String
    /// Makes a descriptor for reading and one for writing.
    let ends: @Sendable () throws -> (read: CInt, write: CInt)

    static let pieceSize = 64 << 10
    static let piece = (0..<pieceSize).map { UInt8(truncatingIfNeeded: $0 &* 7) }

    static let pipe = DescriptorLoop(name: "pipe") {
        var ends: [CInt] = [0, 0]
        guard unsafe portolan_pipe(&ends) == 0 else { throw MeasurementError("pipe2(2) failed") }
        return (ends[0], ends[1])
    }

    static let sockets = DescriptorLoop(name: "socketpair") {
        var ends: [CInt] = [0, 0]
        guard unsafe socketpair(AF_UNIX, CInt(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue), 0, &ends) == 0 else {
            throw MeasurementError("socketpair(2) failed")
        }
        return (ends[0], ends[1])
    }

    func competitor(amount: Int) -> Competitor {
        Competitor(name, amount: amount) {
            let ends = try ends()
            try PlatformThread.start {
                let piece = Self.piece
                for _ in 0..<(amount / piece.count) where !Self.write(piece, to: ends.write) { break }
                close(ends.write)
            }
            return try await withCheckedThrowingContinuation { continuation in
                do {
                    try PlatformThread.start { continuation.resume(with: Result { try Self.read(ends.read) }) }
                } catch {
                    continuation.resume(throwing: error)
                }
            }
        }
    }

    private static func write(_ piece: [UInt8], to descriptor: CInt) -> Bool {
        var start = 0
        while start < piece.count {
            let count = unsafe piece.withUnsafeBytes { bytes in
                unsafe Glibc.write(descriptor, bytes.baseAddress?.advanced(by: start), bytes.count - start)
            }
            guard count > 0 else { return false }
            start += count
        }
        return true
    }

    private static func read(_ descriptor: CInt) throws -> bench_tally {
        defer { close(descriptor) }
        var tally = bench_tally()
        let buffer = UnsafeMutableRawBufferPointer.allocate(byteCount: pieceSize, alignment: 4096)
        defer { unsafe buffer.deallocate() }
        while true {
            let count = unsafe Glibc.read(descriptor, buffer.baseAddress, pieceSize)
            guard count >= 0 else { throw MeasurementError("read(2) failed") }
            if count == 0 { return tally }
            unsafe bench_tally_add(&tally, buffer.baseAddress, count)
        }
    }
}
