// SPDX-License-Identifier: Apache-2.0

/// SHA-256. Portolan uses it to recognise the files of plugins, and to distinguish large bodies.
///
/// Portolan has its own implementation, because the Swift library that has SHA-256 contains all of BoringSSL: a clean
/// build of this package took nearly six minutes of processor time with that library, and one minute without it. This
/// implementation does not run in constant time, so do not use it on secrets.
///
/// Source: FIPS 180-4, section 6.2
package struct SHA256: Sendable {
    private var state: (UInt32, UInt32, UInt32, UInt32, UInt32, UInt32, UInt32, UInt32) = (
        0x6a09_e667, 0xbb67_ae85, 0x3c6e_f372, 0xa54f_f53a, 0x510e_527f, 0x9b05_688c, 0x1f83_d9ab, 0x5be0_cd19
    )
    private var schedule = [UInt32](repeating: 0, count: 64)

    /// The last bytes, which do not fill a block yet.
    private var pending: [UInt8] = []
    private var byteCount: UInt64 = 0

    package init() {}

    /// The digest of `message`, in lower-case hexadecimal.
    package static func hexadecimal(of message: [UInt8]) -> String {
        digest(of: message).text
    }

    package static func digest(of message: [UInt8]) -> SHA256Digest {
        var hash = SHA256()
        hash.update(message)
        return hash.finalize()
    }

    package mutating func update(_ bytes: [UInt8]) {
        byteCount &+= UInt64(bytes.count)
        let input = pending.isEmpty ? bytes : pending + bytes
        let end = input.count & ~63
        for start in stride(from: 0, to: end, by: 64) { processBlock(input, at: start) }
        pending = Array(input[end...])
    }

    package consuming func finalize() -> SHA256Digest {
        // The padding: a one bit, zeros, and the length in bits (section 5.1.1).
        let bits = byteCount &* 8
        let zeros = (pending.count < 56 ? 55 : 119) - pending.count
        update([0x80] + [UInt8](repeating: 0, count: zeros) + (0..<8).map { UInt8(truncatingIfNeeded: bits >> (56 - 8 * UInt64($0))) })
        return SHA256Digest([state.0, state.1, state.2, state.3, state.4, state.5, state.6, state.7])
    }

    /// Processes the 64 bytes that begin at `start`.
    private mutating func processBlock(_ bytes: [UInt8], at start: Int) {
        for index in 0..<16 {
            let position = start + 4 * index
            let high = UInt32(bytes[position]) << 24 | UInt32(bytes[position + 1]) << 16
            schedule[index] = high | UInt32(bytes[position + 2]) << 8 | UInt32(bytes[position + 3])
        }
        for index in 16..<64 {
            let (early, late) = (schedule[index - 15], schedule[index - 2])
            let first = Self.rotated(early, 7) ^ Self.rotated(early, 18) ^ early >> 3
            let second = Self.rotated(late, 17) ^ Self.rotated(late, 19) ^ late >> 10
            schedule[index] = schedule[index - 16] &+ first &+ schedule[index - 7] &+ second
        }
        var (a, b, c, d, e, f, g, h) = state
        for index in 0..<64 {
            let high = Self.rotated(e, 6) ^ Self.rotated(e, 11) ^ Self.rotated(e, 25)
            let choice = (e & f) ^ (~e & g)
            let first = h &+ high &+ choice &+ Self.constants[index] &+ schedule[index]
            let low = Self.rotated(a, 2) ^ Self.rotated(a, 13) ^ Self.rotated(a, 22)
            let majority = (a & b) ^ (a & c) ^ (b & c)
            (h, g, f, e, d, c, b, a) = (g, f, e, d &+ first, c, b, a, first &+ low &+ majority)
        }
        state = (
            state.0 &+ a, state.1 &+ b, state.2 &+ c, state.3 &+ d, state.4 &+ e, state.5 &+ f, state.6 &+ g, state.7 &+ h
        )
    }

    private static func rotated(_ word: UInt32, _ count: UInt32) -> UInt32 { word >> count | word << (32 - count) }

    /// The first 32 bits of the fractions of the cube roots of the first 64 primes (section 4.2.2).
    private static let constants: [UInt32] = [
        0x428a_2f98, 0x7137_4491, 0xb5c0_fbcf, 0xe9b5_dba5, 0x3956_c25b, 0x59f1_11f1, 0x923f_82a4, 0xab1c_5ed5, 0xd807_aa98, 0x1283_5b01,
        0x2431_85be, 0x550c_7dc3, 0x72be_5d74, 0x80de_b1fe, 0x9bdc_06a7, 0xc19b_f174, 0xe49b_69c1, 0xefbe_4786, 0x0fc1_9dc6, 0x240c_a1cc,
        0x2de9_2c6f, 0x4a74_84aa, 0x5cb0_a9dc, 0x76f9_88da, 0x983e_5152, 0xa831_c66d, 0xb003_27c8, 0xbf59_7fc7, 0xc6e0_0bf3, 0xd5a7_9147,
        0x06ca_6351, 0x1429_2967, 0x27b7_0a85, 0x2e1b_2138, 0x4d2c_6dfc, 0x5338_0d13, 0x650a_7354, 0x766a_0abb, 0x81c2_c92e, 0x9272_2c85,
        0xa2bf_e8a1, 0xa81a_664b, 0xc24b_8b70, 0xc76c_51a3, 0xd192_e819, 0xd699_0624, 0xf40e_3585, 0x106a_a070, 0x19a4_c116, 0x1e37_6c08,
        0x2748_774c, 0x34b0_bcb5, 0x391c_0cb3, 0x4ed8_aa4a, 0x5b9c_ca4f, 0x682e_6ff3, 0x748f_82ee, 0x78a5_636f, 0x84c8_7814, 0x8cc7_0208,
        0x90be_fffa, 0xa450_6ceb, 0xbef9_a3f7, 0xc671_78f2,
    ]
}

/// The result of ``SHA256``.
package struct SHA256Digest: Hashable, Sendable {
    private let words: [UInt32]

    fileprivate init(_ words: [UInt32]) { self.words = words }

    /// `nil` if the text is not 64 hexadecimal digits.
    package init?(text: String) {
        let digits = Array(text.utf8)
        guard digits.count == 64, digits.allSatisfy({ Character(Unicode.Scalar($0)).isHexDigit }) else { return nil }
        words = stride(from: 0, to: 64, by: 8).compactMap { UInt32(String(decoding: digits[$0..<$0 + 8], as: UTF8.self), radix: 16) }
    }

    /// 64 digits, in lower case.
    package var text: String {
        words.map { word in
            let digits = String(word, radix: 16)
            return String(repeating: "0", count: 8 - digits.count) + digits
        }.joined()
    }
}
