// SPDX-License-Identifier: Apache-2.0

import Foundation

/// Generates the same bytes in each run, for files and bodies.
struct TestBytes {
    private var state: UInt64

    init(seed: UInt64) {
        state = seed
    }

    /// Source: Steele, Lea and Flood, "Fast splittable pseudorandom number generators" (SplitMix64).
    mutating func next() -> UInt64 {
        state &+= 0x9E37_79B9_7F4A_7C15
        var z = state
        z = (z ^ (z >> 30)) &* 0xBF58_476D_1CE4_E5B9
        z = (z ^ (z >> 27)) &* 0x94D0_49BB_1331_11EB
        return z ^ (z >> 31)
    }

    /// Returns pseudorandom bytes.
    mutating func noise(_ count: Int) -> Data {
        var bytes = [UInt8]()
        bytes.reserveCapacity(count + 7)
        while bytes.count < count {
            var word = next()
            for _ in 0..<8 {
                bytes.append(UInt8(truncatingIfNeeded: word))
                word >>= 8
            }
        }
        return Data(bytes.prefix(count))
    }

    /// Returns lines like those of a server's log: repeated words, and numbers that do not repeat.
    mutating func log(_ count: Int) -> Data {
        let paths = ["/charts/north-sea", "/tides?port=hamburg", "/notices/to-mariners", "/api/v2/soundings", "/favicon.ico", "/"]
        let agents = ["Mozilla/5.0 (X11; Linux x86_64)", "curl/8.5.0", "portolan/0.1", "Wget/1.21.3"]
        var bytes = [UInt8]()
        bytes.reserveCapacity(count + 256)
        while bytes.count < count {
            let word = next()
            let path = paths[Int(word % UInt64(paths.count))]
            let agent = agents[Int(word >> 8 & 3)]
            let line = "10.\(word >> 16 & 255).\(word >> 24 & 255).7 - - GET \(path) \(word >> 32 & 0xFFFF) 200 \(agent) \(word >> 48)\n"
            bytes.append(contentsOf: line.utf8)
        }
        return Data(bytes.prefix(count))
    }
}
