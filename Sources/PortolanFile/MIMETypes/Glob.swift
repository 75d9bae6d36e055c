// SPDX-License-Identifier: Apache-2.0

/// A pattern of file names. `*` matches any number of bytes, `?` one byte, `[a-z]` one byte of a set, and `[!a-z]` one
/// byte outside it.
///
/// The time to match is at most proportional to the product of the lengths of pattern and name.
///
/// `glob(7)`
struct Glob {
    private enum Element {
        case byte(UInt8)
        case oneByte
        case anyBytes
        case oneOf([ClosedRange<UInt8>], isNegated: Bool)

        func matches(_ byte: UInt8) -> Bool {
            switch self {
            case .byte(let expected): expected == byte
            case .oneByte: true
            case .anyBytes: false
            case .oneOf(let ranges, let isNegated): ranges.contains { $0.contains(byte) } != isNegated
            }
        }
    }

    private let elements: [Element]

    static func isSpecial(_ byte: UInt8) -> Bool {
        byte == UInt8(ascii: "*") || byte == UInt8(ascii: "?") || byte == UInt8(ascii: "[")
    }

    /// The part after the star, if the pattern is a star and plain bytes.
    static func ending(of pattern: ArraySlice<UInt8>) -> ArraySlice<UInt8>? {
        guard pattern.first == UInt8(ascii: "*") else { return nil }
        let ending = pattern.dropFirst()
        return ending.isEmpty || ending.contains(where: isSpecial) ? nil : ending
    }

    /// - Returns: `nil` for a set without an end, for a range whose first byte is greater than its last, and for a
    ///   pattern of stars only, which would match every name.
    init?(_ pattern: ArraySlice<UInt8>) {
        var elements: [Element] = []
        var rest = pattern
        while let first = rest.popFirst() {
            switch first {
            case UInt8(ascii: "*"): elements.append(.anyBytes)
            case UInt8(ascii: "?"): elements.append(.oneByte)
            case UInt8(ascii: "["):
                guard let set = Self.set(from: &rest) else { return nil }
                elements.append(set)
            default: elements.append(.byte(first))
            }
        }
        let matchesSomeByte = elements.contains {
            switch $0 {
            case .anyBytes: false
            case .byte, .oneByte, .oneOf: true
            }
        }
        guard matchesSomeByte else { return nil }
        self.elements = elements
    }

    /// Reads a set after its opening bracket. A closing bracket in the first place is a member.
    private static func set(from rest: inout ArraySlice<UInt8>) -> Element? {
        let isNegated = rest.first == UInt8(ascii: "!") || rest.first == UInt8(ascii: "^")
        if isNegated { rest.removeFirst() }
        var ranges: [ClosedRange<UInt8>] = []
        while let low = rest.popFirst() {
            if low == UInt8(ascii: "]"), !ranges.isEmpty { return .oneOf(ranges, isNegated: isNegated) }
            let after = rest.dropFirst()
            if rest.first == UInt8(ascii: "-"), let high = after.first, high != UInt8(ascii: "]") {
                guard low <= high else { return nil }
                ranges.append(low...high)
                rest = after.dropFirst()
            } else {
                ranges.append(low...low)
            }
        }
        return nil
    }

    func matches(_ name: ArraySlice<UInt8>) -> Bool {
        var (element, byte) = (0, name.startIndex)
        // The element after the last star, and the first byte that this star does not match. After a mismatch, the star
        // matches one more byte. Earlier stars never have to match more bytes.
        var retry: (element: Int, byte: Int)?
        while byte < name.endIndex || element < elements.count {
            if element < elements.count {
                if case .anyBytes = elements[element] {
                    element += 1
                    retry = (element, byte)
                    continue
                }
                if byte < name.endIndex, elements[element].matches(name[byte]) {
                    element += 1
                    byte += 1
                    continue
                }
            }
            guard let (afterStar, next) = retry, next < name.endIndex else { return false }
            retry = (afterStar, next + 1)
            (element, byte) = (afterStar, next + 1)
        }
        return true
    }
}
