// SPDX-License-Identifier: Apache-2.0

import PortolanCore

/// Bytes that a recording does not show, and what they are.
struct SecretRange: Equatable {
    enum Kind { case value, number, userInformation }

    let bytes: Range<Int>
    let kind: Kind

    func moved(by offset: Int) -> Self { Self(bytes: bytes.lowerBound + offset..<bytes.upperBound + offset, kind: kind) }
}

/// Where secrets stand in URLs, forms and texts. In the order of the bytes, and none in another one.
enum SecretRanges {
    enum Surroundings {
        /// Behind the first `?`, `;` or `#` names and values begin.
        case url
        /// URLs and names with values stand among other words.
        case text
        /// It begins with a name, and only `&` ends a value: `application/x-www-form-urlencoded`.
        case form
    }

    /// The values of parameters whose names are those of secrets, and values that hold an encoded URL with a password.
    ///
    /// - Parameter isEncoded: whether the bytes were the value of a parameter; what is encoded in them once more is not looked into.
    static func parameters(in bytes: some Collection<UInt8>, _ surroundings: Surroundings, isEncoded: Bool = false) -> [SecretRange] {
        let bytes = Array(bytes)
        guard bytes.contains(UInt8(ascii: "=")) else { return [] }
        var ranges: [SecretRange] = []
        var name = surroundings == .form ? 0 : nil as Int?
        var isQuery = surroundings == .form
        var index = 0
        while index < bytes.count {
            let byte = bytes[index]
            switch byte {
            case UInt8(ascii: "&"): name = index + 1
            case _ where surroundings == .form && byte != UInt8(ascii: "="): break
            case UInt8(ascii: "?"), UInt8(ascii: "#"): (name, isQuery) = (index + 1, true)
            case UInt8(ascii: ";"): name = index + 1
            case UInt8(ascii: "/") where !isQuery: name = nil
            case UInt8(ascii: "="):
                guard let start = name else { break }
                name = nil
                let isSecret = SecretName.isSecret(PercentEncoding.decodedBytes(String(decoding: bytes[start..<index], as: UTF8.self)))
                if isSecret || (!isEncoded && hidesSecret(bytes[(index + 1)...])) {
                    let end = valueEnd(in: bytes, from: index + 1, isQuery: isQuery, surroundings)
                    ranges.append(SecretRange(bytes: index + 1..<end, kind: .value))
                    index = end
                    continue
                }
                if surroundings == .form {
                    let value = bytes[(index + 1)...].prefix { $0 != UInt8(ascii: "&") }
                    ranges += userInformation(in: value).map { $0.moved(by: index + 1) }
                }
            case _ where surroundings == .text && isWordEnd(byte):
                // As in `; name=value`.
                if name == index, byte == UInt8(ascii: " ") { name = index + 1 } else { (name, isQuery) = (nil, false) }
            default: break
            }
            index += 1
        }
        return ranges
    }

    /// - Parameter includingReferences: as ``UserInformation`` has it.
    static func userInformation(in bytes: some Collection<UInt8>, includingReferences: Bool = false) -> [SecretRange] {
        UserInformation.ranges(in: bytes, includingReferences: includingReferences).map { SecretRange(bytes: $0, kind: .userInformation) }
    }

    private static func valueEnd(in bytes: [UInt8], from start: Int, isQuery: Bool, _ surroundings: Surroundings) -> Int {
        let end = bytes[start...].firstIndex { byte in
            switch byte {
            case UInt8(ascii: "&"): true
            case UInt8(ascii: "#"): surroundings != .form
            case UInt8(ascii: ";"), UInt8(ascii: "/"), UInt8(ascii: "?"): !isQuery
            default: surroundings == .text && isWordEnd(byte)
            }
        }
        return end ?? bytes.count
    }

    private static func isWordEnd(_ byte: UInt8) -> Bool {
        byte <= 0x20 || [UInt8(ascii: "\""), UInt8(ascii: "'"), UInt8(ascii: "<"), UInt8(ascii: ">")].contains(byte)
    }

    /// Whether a text begins with an encoded URL or JSON that holds a secret: `http%3A%2F%2Fuser%3Apassword%40host%2F`.
    private static func hidesSecret(_ text: ArraySlice<UInt8>) -> Bool {
        // Which would be encoded, too. So nothing is looked at twice.
        let value = text.prefix { ![UInt8(ascii: "&"), UInt8(ascii: "="), UInt8(ascii: "?"), UInt8(ascii: "#")].contains($0) && $0 > 0x20 }
        guard value.contains(UInt8(ascii: "%")) else { return false }
        let decoded = PercentEncoding.decodedBytes(String(decoding: value, as: UTF8.self))
        guard decoded.count < value.count else { return false }
        if isShapedLikeJSON(decoded), !json(decoded).isEmpty { return true }
        return !userInformation(in: decoded).isEmpty || !parameters(in: decoded, .text, isEncoded: true).isEmpty
    }
}
