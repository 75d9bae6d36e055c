// SPDX-License-Identifier: Apache-2.0

import CTally
import Glibc
import PortolanCore
import PortolanStreams

/// 1 GiB that one thread writes to an output stream, and another reads from an input stream, in place.
enum StreamRows {
    private static let size = 1 << 30

    static func pair(_ fixture: Fixture) throws -> Row {
        row(DescriptorLoop.pipe) { ByteInputStream.boundPair(bufferSize: DescriptorLoop.pieceSize) }
    }

    static func sockets(_ fixture: Fixture) throws -> Row {
        row(DescriptorLoop.sockets) {
            let ends = try DescriptorLoop.sockets.ends()
            let (input, output) = (ByteInputStream(descriptor: ends.read), ByteOutputStream(descriptor: ends.write))
            // The streams duplicate the descriptors when they are opened.
            input.open()
            output.open()
            close(ends.read)
            close(ends.write)
            return (input, output)
        }
    }

    private static func row(
        _ loop: DescriptorLoop, _ make: @escaping @Sendable () throws -> (input: ByteInputStream, output: ByteOutputStream)
    ) -> Row {
        Row(
            unit: .gigabytesPerSecond,
            subject: Competitor("portolan", amount: size) {
                let (input, output) = try make()
                return try await transfer(from: output, to: input)
            },
            peers: [loop.competitor(amount: size)], budget: .atLeast(0.9, of: loop.name))
    }

    private static func transfer(from output: ByteOutputStream, to input: ByteInputStream) async throws -> bench_tally {
        input.open()
        output.open()
        try PlatformThread.start {
            let piece = DescriptorLoop.piece
            for _ in 0..<(size / piece.count) {
                // The reader reports an error.
                guard (try? output.write(all: piece)) != nil else { return }
            }
            output.close()
        }
        return try await withCheckedThrowingContinuation { continuation in
            do {
                try PlatformThread.start {
                    continuation.resume(
                        with: Result {
                            var tally = bench_tally()
                            while try input.withAvailableBytes({ bytes in
                                unsafe bytes.withUnsafeBytes { unsafe bench_tally_add(&tally, $0.baseAddress, $0.count) }
                                return bytes.byteCount
                            }) {}
                            return tally
                        })
                }
            } catch {
                continuation.resume(throwing: error)
            }
        }
    }
}
