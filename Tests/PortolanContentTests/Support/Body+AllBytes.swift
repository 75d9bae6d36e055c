// SPDX-License-Identifier: Apache-2.0

import PortolanCore
import PortolanTestSupport

extension Body {
    /// Reads the body to its end, in buffers of `capacity` bytes.
    func allBytes(capacity: Int = 1000) async throws -> [UInt8] {
        let reader = try makeReader()
        var bytes: [UInt8] = []
        while true {
            let (readySignals, readySource) = AsyncStream<Void>.makeStream()
            var result = BodyRead.end
            bytes += [UInt8](capacity: capacity) { output in result = reader.read(into: &output) { readySource.finish() } }
            switch result {
            case .bytes: continue
            case .wait: for await _ in readySignals {}
            case .end: return bytes
            case .failed(let error): throw error
            }
        }
    }

    func text(capacity: Int = 1000) async throws -> String {
        String(decoding: try await allBytes(capacity: capacity), as: UTF8.self)
    }
}

/// All divisions of a text into at most three pieces, and the one into single bytes.
func divisions(of bytes: [UInt8]) -> [[[UInt8]]] {
    var result = [bytes.map { [$0] }]
    for first in 0...bytes.count {
        for second in first...bytes.count {
            result.append([Array(bytes[..<first]), Array(bytes[first..<second]), Array(bytes[second...])])
        }
    }
    return result
}
