// SPDX-License-Identifier: Apache-2.0

import PortolanCore

/// A range of bytes that a recording must hide, and its kind.
struct SecretRange: Equatable {
    enum Kind { case value, number, userInformation }

    let bytes: Range<Int>
    let kind: Kind
    /// The number of bytes at the end that are the `@` of user information, which can be encoded; 0 for other kinds.
    var sign = 0

    func moved(by offset: Int) -> Self {
        Self(bytes: bytes.lowerBound + offset..<bytes.upperBound + offset, kind: kind, sign: sign)
    }
}

/// Finds secrets in URLs, forms and texts. Ranges can be nested.
enum SecretRanges {
    enum Context {
        /// Names and values start behind the first `?`, `;` or `#`.
        case url
        /// URLs, and names with values, occur among other words.
        case text
        /// The text starts with a name, and only `&` ends a value: `application/x-www-form-urlencoded`.
        case form
    }

    /// How many levels of percent-encoding are decoded to find URLs.
    private static let deepestEncoding = 3

    /// Finds the values of parameters with names of secrets, and values that contain an encoded secret, such as a URL
    /// with a password.
    ///
    /// - Parameter isEncoded: whether the bytes are the decoded value of a parameter; values that are encoded again are
    ///   not searched.
    static func parameters(in bytes: [UInt8], _ surroundings: Context, isEncoded: Bool = false) -> [SecretRange] {
        guard bytes.contains(UInt8(ascii: "=")) else { return [] }
        var ranges: [SecretRange] = []
        var names = SecretName.Memory()
        var name = surroundings == .form ? 0 : nil as Int?
        var isQuery = surroundings == .form
        var index = 0
        // The end of the last JSON that was searched.
        var jsonEnd = 0
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
                let kind = names.kind(of: bytes[start..<index]) {
                    $0.contains(UInt8(ascii: "%")) ? CodedText(Array($0), .percent).decoded : nil
                }
                let isHidden =
                    if kind != .none {
                        SecretName.hides(
                            bytes[index + 1..<valueEnd(in: bytes, from: index + 1, isQuery: isQuery, surroundings)], named: kind)
                    } else {
                        !isEncoded && hidesSecret(bytes, from: index + 1, surroundings)
                    }
                if isHidden {
                    let end = valueEnd(in: bytes, from: index + 1, isQuery: isQuery, surroundings)
                    ranges.append(SecretRange(bytes: index + 1..<end, kind: .value))
                    index = end
                    continue
                }
                guard surroundings == .form else { break }
                let value = bytes[(index + 1)...].prefix { $0 != UInt8(ascii: "&") }
                ranges += userInformation(in: Array(value)).map { $0.moved(by: index + 1) }
                if index + 1 >= jsonEnd, isShapedLikeJSON(value) {
                    // As in a JSON body, an `&` does not end the JSON.
                    let scan = json(bytes, from: index + 1)
                    ranges += scan.ranges
                    jsonEnd = scan.end
                }
            case _ where surroundings == .text && isWordEnd(byte):
                // A space can follow the semicolon, as in `; name=value`.
                if name == index, byte == UInt8(ascii: " ") { name = index + 1 } else { (name, isQuery) = (nil, false) }
            default: break
            }
            index += 1
        }
        return ranges
    }

    /// Finds the user information of URLs, including percent-encoded URLs.
    ///
    /// - Parameter includingReferences: as in ``UserInformation``.
    static func userInformation(in bytes: [UInt8], includingReferences: Bool = false) -> [SecretRange] {
        func found(_ bytes: [UInt8]) -> [SecretRange] {
            UserInformation.ranges(in: bytes, includingReferences: includingReferences).map {
                SecretRange(bytes: $0, kind: .userInformation, sign: 1)
            }
        }
        var ranges = found(bytes)
        var texts: [CodedText] = []
        var decoded = bytes
        while texts.count < deepestEncoding, decoded.contains(UInt8(ascii: "%")) {
            let text = CodedText(decoded, .percent)
            guard text.decoded.count < decoded.count else { break }
            decoded = text.decoded
            texts.append(text)
            ranges += texts.reversed().reduce(found(decoded)) { $1.encoded($0) }
        }
        return ranges
    }

    private static func valueEnd(in bytes: [UInt8], from start: Int, isQuery: Bool, _ surroundings: Context) -> Int {
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
        switch byte {
        case ...0x20, UInt8(ascii: "\""), UInt8(ascii: "'"), UInt8(ascii: "<"), UInt8(ascii: ">"): true
        default: false
        }
    }

    /// Whether a text contains an encoded URL or encoded JSON with a secret: `http%3A%2F%2Fuser%3Apassword%40host%2F`.
    private static func hidesSecret(_ bytes: [UInt8], from start: Int, _ surroundings: Context) -> Bool {
        // The search ends where the next name can start, so that no byte is searched twice.
        var (end, isEncoded) = (start, false)
        scan: while end < bytes.count {
            switch bytes[end] {
            case UInt8(ascii: "&"): break scan
            case UInt8(ascii: "?"), UInt8(ascii: "#"), UInt8(ascii: ";"), ...0x20: if surroundings != .form { break scan }
            case UInt8(ascii: "%"): isEncoded = true
            default: break
            }
            end += 1
        }
        guard isEncoded else { return false }
        let decoded = CodedText(Array(bytes[start..<end]), .percent).decoded
        guard decoded.count < end - start else { return false }
        if isShapedLikeJSON(decoded), !json(decoded).ranges.isEmpty { return true }
        return !userInformation(in: decoded).isEmpty || !parameters(in: decoded, .text, isEncoded: true).isEmpty
    }
}
