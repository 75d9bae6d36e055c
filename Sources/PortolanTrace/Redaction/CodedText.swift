// SPDX-License-Identifier: Apache-2.0

import PortolanCore

/// An encoded text that must be decoded before it can be searched. Maps ranges of decoded bytes to the encoded text.
struct CodedText {
    enum Coding {
        /// A JSON string (RFC 8259 §7). Escaped scalars beyond ASCII become `?`.
        case json
        /// `%` and two hex digits.
        case percent
        /// A backslash precedes a literal character (RFC 9110 §5.6.4).
        case quotedPairs
    }

    private let source: [UInt8]
    private let coding: Coding
    let decoded: [UInt8]

    init(_ source: [UInt8], _ coding: Coding) {
        (self.source, self.coding) = (source, coding)
        var decoded: [UInt8] = []
        decoded.reserveCapacity(source.count)
        var index = 0
        while index < source.count {
            let (byte, next) = Self.step(source, index, coding)
            decoded.append(byte)
            index = next
        }
        self.decoded = decoded
    }

    /// Maps ranges of decoded bytes to ranges of the encoded text.
    func encoded(_ ranges: [SecretRange]) -> [SecretRange] {
        guard !ranges.isEmpty else { return [] }
        var offsets: [Int] = []
        offsets.reserveCapacity(3 * ranges.count)
        for range in ranges {
            offsets.append(range.bytes.lowerBound)
            offsets.append(range.bytes.upperBound - range.atSignLength)
            offsets.append(range.bytes.upperBound)
        }
        offsets.sort()
        var (index, count) = (0, 0)
        let positions = offsets.map { offset in
            while count < offset, index < source.count {
                index = Self.step(source, index, coding).next
                count += 1
            }
            return index
        }
        func position(of offset: Int) -> Int {
            var (low, high) = (0, offsets.count)
            while low < high {
                let middle = (low + high) / 2
                if offsets[middle] < offset { low = middle + 1 } else { high = middle }
            }
            return positions[low]
        }
        return ranges.map { range in
            let (start, end) = (position(of: range.bytes.lowerBound), position(of: range.bytes.upperBound))
            let atSignStart = position(of: range.bytes.upperBound - range.atSignLength)
            return SecretRange(bytes: start..<end, kind: range.kind, atSignLength: end - atSignStart)
        }
    }

    /// Decodes the byte whose encoding starts at `index`. `next` is the index after that encoding.
    private static func step(_ source: [UInt8], _ index: Int, _ coding: Coding) -> (byte: UInt8, next: Int) {
        let byte = source[index]
        switch (coding, byte) {
        case (.percent, UInt8(ascii: "%")) where index + 2 < source.count:
            guard let high = PercentEncoding.hexValue(source[index + 1]), let low = PercentEncoding.hexValue(source[index + 2]) else {
                break
            }
            return (high << 4 | low, index + 3)
        case (.json, UInt8(ascii: "\\")) where index + 1 < source.count:
            guard source[index + 1] == UInt8(ascii: "u") else { return (meaning(of: source[index + 1]), index + 2) }
            var value: UInt32 = 0
            let end = min(index + 6, source.count)
            for digit in source[(index + 2)..<max(index + 2, end)] { value = value << 4 | UInt32(PercentEncoding.hexValue(digit) ?? 0xF) }
            return (end == index + 6 && value < 0x80 ? UInt8(value) : UInt8(ascii: "?"), end)
        case (.quotedPairs, UInt8(ascii: "\\")) where index + 1 < source.count: return (source[index + 1], index + 2)
        default: break
        }
        return (byte, index + 1)
    }

    private static func meaning(of escape: UInt8) -> UInt8 {
        switch escape {
        case UInt8(ascii: "n"): 0x0A
        case UInt8(ascii: "r"): 0x0D
        case UInt8(ascii: "t"): 0x09
        case UInt8(ascii: "b"): 0x08
        case UInt8(ascii: "f"): 0x0C
        default: escape
        }
    }
}
