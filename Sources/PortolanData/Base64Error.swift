// SPDX-License-Identifier: Apache-2.0

/// The reasons why text is not base64, even for a forgiving decoder.
///
/// Offsets count bytes (UTF-8) from the start of the decoder's input, which is the text or the whole URL.
public enum Base64Error: Error, Sendable, Hashable {
    /// The character at `offset` stands for this byte. The byte is not in the alphabet, and is not white space or
    /// padding.
    case foreignCharacter(UInt8, offset: Int)

    /// The text continues with an alphabet character at `offset`, after its padding `=`.
    case characterAfterPadding(offset: Int)

    /// The padding is wrong. Alphabet characters and `=` signs together, `count` characters, do not form groups of
    /// four, or there are more than two `=` signs. The first `=` sign is at `offset`.
    case wrongPadding(count: Int, offset: Int)

    /// The number of alphabet characters, `count`, is one more than a multiple of four. The six bits of the last
    /// character make no byte.
    case incompleteGroup(count: Int)
}

extension Base64Error: CustomStringConvertible {
    /// Describes the fault, its position and the correction.
    public var description: String {
        switch self {
        case .foreignCharacter(let byte, let offset):
            "the byte \(Self.name(of: byte)) at offset \(offset) is not base64: write A–Z a–z 0–9 + / only"
                + (byte == UInt8(ascii: "-") || byte == UInt8(ascii: "_") ? " (base64url's - and _ are + and / here)" : "")
        case .characterAfterPadding(let offset):
            "the base64 text continues at offset \(offset) after its padding: write '=' signs only at the end"
        case .wrongPadding(let count, let offset):
            "the base64 padding at offset \(offset) is wrong (\(count) characters including padding): "
                + "write one or two '=' signs that fill the last group of four, or none"
        case .incompleteGroup(let count):
            "the count of base64 characters, \(count), is one more than a multiple of four: the text was cut short, or has one too many"
        }
    }

    private static func name(of byte: UInt8) -> String {
        let digits = String(byte, radix: 16, uppercase: true)
        let number = "0x" + String(repeating: "0", count: 2 - digits.count) + digits
        return (0x21...0x7E).contains(byte) ? "\(number) '\(Unicode.Scalar(byte))'" : number
    }
}
