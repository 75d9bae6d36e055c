// SPDX-License-Identifier: Apache-2.0

// The raw loop "loop": decodes base64 with a table of 256 entries, four letters to three bytes, into an array of the
// right size, as one would write it for valid text. It skips nothing, and detects only invalid letters. The tally is
// taken from the array.

import CTally

enum Base64Loop {
    private static let invalid: UInt32 = 1 << 31

    private static let table: [UInt32] = {
        var table = [UInt32](repeating: invalid, count: 256)
        for (value, letter) in "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/".utf8.enumerated() {
            table[Int(letter)] = UInt32(value)
        }
        return table
    }()

    static func decode(_ text: Span<UInt8>) throws -> [UInt8] {
        let padding = (0..<min(2, text.count)).count { text[text.count - 1 - $0] == UInt8(ascii: "=") }
        var bytes = [UInt8](repeating: 0, count: text.count / 4 * 3 - padding)
        var output = bytes.mutableSpan
        guard decode(text, with: table.span, into: &output) else { throw MeasurementError("the base64 of the row is invalid") }
        return bytes
    }

    /// - Returns: whether all letters are valid.
    private static func decode(_ text: Span<UInt8>, with table: Span<UInt32>, into output: inout MutableSpan<UInt8>) -> Bool {
        var (read, written, combined) = (0, 0, UInt32(0))
        while written + 3 <= output.count {
            let (a, b, c, d) = (
                table[Int(text[read])], table[Int(text[read + 1])], table[Int(text[read + 2])], table[Int(text[read + 3])]
            )
            let word = a << 18 | b << 12 | c << 6 | d
            combined |= a | b | c | d
            output[written] = UInt8(truncatingIfNeeded: word >> 16)
            output[written + 1] = UInt8(truncatingIfNeeded: word >> 8)
            output[written + 2] = UInt8(truncatingIfNeeded: word)
            read += 4
            written += 3
        }
        guard written < output.count else { return combined & invalid == 0 }
        let word = table[Int(text[read])] << 18 | table[Int(text[read + 1])] << 12 | (table[Int(text[read + 2])] & 63) << 6
        for shift: UInt32 in [16, 8] where written < output.count {
            output[written] = UInt8(truncatingIfNeeded: word >> shift)
            written += 1
        }
        return combined & invalid == 0
    }

    /// - Parameter start: the number of bytes of `text` before the base64.
    static func competitor(decoding text: String, from start: Int, amount: Int) -> Competitor {
        let letters = Array(text.utf8.dropFirst(start))
        return Competitor("loop", amount: amount) {
            let bytes = try decode(letters.span)
            return unsafe bench_tally(of: bytes.span.bytes)
        }
    }
}
