// SPDX-License-Identifier: Apache-2.0

/// Reads a run of DER elements, one after the other. Whatever is not the one encoding that DER allows is refused.
///
/// ITU-T X.690 §8.1, §10.1
struct DERReader {
    struct Element {
        let tag: UInt8
        /// What lies behind tag and length.
        let content: ArraySlice<UInt8>
        /// With tag and length.
        let whole: ArraySlice<UInt8>
    }

    struct SyntaxError: Error, Equatable {}

    private var rest: ArraySlice<UInt8>

    init(_ bytes: ArraySlice<UInt8>) { rest = bytes }

    /// Reads what is inside of `element`.
    init(_ element: Element) { rest = element.content }

    var isAtEnd: Bool { rest.isEmpty }

    mutating func next() throws(SyntaxError) -> Element {
        let start = rest.startIndex
        guard rest.count >= 2 else { throw SyntaxError() }
        let tag = rest[start]
        // Tags of more than one byte occur in no certificate.
        guard tag & 0x1F != 0x1F else { throw SyntaxError() }
        let first = rest[start + 1]
        var (length, header) = (Int(first), 2)
        if first >= 0x80 {
            let count = Int(first & 0x7F)
            guard (1...3).contains(count), rest.count >= 2 + count else { throw SyntaxError() }
            length = rest[(start + 2)..<(start + 2 + count)].reduce(0) { $0 << 8 | Int($1) }
            header += count
            // Only the shortest form.
            guard length >= 0x80, length >> (8 * (count - 1)) != 0 else { throw SyntaxError() }
        }
        guard rest.count - header >= length else { throw SyntaxError() }
        let end = start + header + length
        defer { rest = rest[end...] }
        return Element(tag: tag, content: rest[(start + header)..<end], whole: rest[start..<end])
    }

    mutating func next(_ tag: UInt8) throws(SyntaxError) -> Element {
        let element = try next()
        guard element.tag == tag else { throw SyntaxError() }
        return element
    }

    /// The next element, if it has this tag.
    mutating func next(ifTagged tag: UInt8) throws(SyntaxError) -> Element? {
        rest.first == tag ? try next() : nil
    }
}

extension UInt8 {
    // X.680 §8.4: the universal tags that certificates are made of, and context-specific ones.
    static let derBoolean: UInt8 = 0x01
    static let derInteger: UInt8 = 0x02
    static let derBitString: UInt8 = 0x03
    static let derOctetString: UInt8 = 0x04
    static let derObjectIdentifier: UInt8 = 0x06
    static let derSequence: UInt8 = 0x30
    static let derSet: UInt8 = 0x31

    static func derContext(_ number: UInt8) -> UInt8 { 0x80 | number }
    static func derConstructedContext(_ number: UInt8) -> UInt8 { 0xA0 | number }
}
