// SPDX-License-Identifier: Apache-2.0

/// A place in a body where SEC-09 writes 1 GiB. The number there can be the length of a part, in any format.
struct DeclaredLength: Hashable {
    let place: Range<Int>
    let number: [UInt8]

    /// The number of bytes of a body that are searched for numbers in text, and for binary numbers.
    private static let (textRange, binaryRange) = (4096, 64)
    private static let (decimal, octal) = (Array("1073741824".utf8), Array("10000000000".utf8))

    /// The numbers in text that have room for 1 GiB, as in the headers of `tar` and `ar`, and 32-bit integers in both
    /// byte orders, as in `zip`, at each of the first offsets.
    static func all(in body: [UInt8]) -> [Self] {
        let inText = textFields(in: body.prefix(textRange)).flatMap { field in
            [decimal, octal].filter { $0.count <= field.count }.map { number in
                let isPaddedAtTheEnd = body[field.upperBound - 1] == UInt8(ascii: " ")
                let padding = [UInt8](repeating: UInt8(ascii: isPaddedAtTheEnd ? " " : "0"), count: field.count - number.count)
                return Self(place: field, number: isPaddedAtTheEnd ? number + padding : padding + number)
            }
        }
        // Formats align most numbers, so those offsets come first.
        let offsets = (0..<max(0, min(binaryRange, body.count - 3)))
        let binary = (offsets.filter { $0 % 4 == 0 } + offsets.filter { $0 % 4 != 0 }).flatMap { offset in
            [[0, 0, 0, 0x40], [0x40, 0, 0, 0]].map { Self(place: offset..<offset + 4, number: $0) }
        }
        return inText + binary
    }

    /// Returns the body with the number. A body that ends before its place is returned as it is.
    func written(to body: [UInt8]) -> [UInt8] {
        guard place.upperBound <= body.count else { return body }
        var body = body
        body.replaceSubrange(place, with: number)
        if place.lowerBound < Self.tarHeaderLength { Self.correctChecksum(ofTarHeader: &body) }
        return body
    }

    // POSIX.1-2017, pax: the format ustar.
    private static let (tarHeaderLength, tarMagicPlace, tarChecksumPlace) = (512, 257..<262, 148..<156)

    /// A reader of `tar` can refuse a header whose checksum is wrong, and then reads no number.
    private static func correctChecksum(ofTarHeader body: inout [UInt8]) {
        guard body.count >= tarHeaderLength, body[tarMagicPlace].elementsEqual("ustar".utf8) else { return }
        body.replaceSubrange(tarChecksumPlace, with: [UInt8](repeating: UInt8(ascii: " "), count: tarChecksumPlace.count))
        let digits = String(body.prefix(tarHeaderLength).reduce(0) { $0 + Int($1) }, radix: 8)
        let checksum = Array((String(repeating: "0", count: max(0, 6 - digits.count)) + digits + "\0 ").utf8)
        body.replaceSubrange(tarChecksumPlace, with: checksum)
    }

    /// The ranges of digits with the spaces after them.
    private static func textFields(in bytes: ArraySlice<UInt8>) -> [Range<Int>] {
        var (fields, start) = ([Range<Int>](), bytes.startIndex)
        while let first = bytes[start...].firstIndex(where: isDigit) {
            let afterDigits = bytes[first...].firstIndex { !isDigit($0) } ?? bytes.endIndex
            start = bytes[afterDigits...].firstIndex { $0 != UInt8(ascii: " ") } ?? bytes.endIndex
            fields.append(first..<start)
        }
        return fields
    }

    private static func isDigit(_ byte: UInt8) -> Bool { (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(byte) }
}
