// SPDX-License-Identifier: Apache-2.0

extension Span<UInt8> {
    /// The range without spaces and tabs at its ends.
    func trimmedBlanks(_ range: Range<Int>) -> Range<Int> {
        var (start, end) = (range.lowerBound, range.upperBound)
        while start < end, self[start].isBlank { start += 1 }
        while end > start, self[end - 1].isBlank { end -= 1 }
        return start..<end
    }

    func firstIndex(of byte: UInt8, in range: Range<Int>) -> Int? {
        for index in range where self[index] == byte { return index }
        return nil
    }

    func bytes(_ range: Range<Int>) -> [UInt8] { range.map { self[$0] } }

    /// Whether the bytes equal `text` without regard to case. `text` must be in lower case.
    func equalsIgnoringCase(_ text: StaticString) -> Bool {
        count == text.utf8CodeUnitCount && hasPrefix(ignoringCase: text)
    }

    /// Whether the bytes begin with `text` without regard to case. `text` must be in lower case.
    func hasPrefix(ignoringCase text: StaticString) -> Bool {
        guard count >= text.utf8CodeUnitCount else { return false }
        for index in 0..<text.utf8CodeUnitCount where unsafe self[index].lowercasedASCII != text.utf8Start[index] { return false }
        return true
    }
}

extension UInt8 {
    var isBlank: Bool { self == 0x20 || self == 0x09 }
    var lowercasedASCII: UInt8 { self &- 0x41 < 26 ? self | 0x20 : self }
}
