// SPDX-License-Identifier: Apache-2.0

import PortolanCore

/// A range of bytes that a recording must hide, and its kind.
struct SecretRange: Equatable {
    enum Kind { case value, number, userInformation }

    let bytes: Range<Int>
    let kind: Kind
    /// The number of bytes of the `@` at the end of user information, which is more than 1 if the `@` is
    /// percent-encoded; 0 for other kinds.
    var atSignLength = 0

    func moved(by offset: Int) -> Self {
        Self(bytes: bytes.lowerBound + offset..<bytes.upperBound + offset, kind: kind, atSignLength: atSignLength)
    }
}

/// Finds secrets in URLs, forms and texts. Ranges can be nested.
enum SecretRanges {
    enum Context {
        /// Names and values start after the first `?`, `;` or `#`.
        case url
        /// URLs, and names with values, occur among other words.
        case text
        /// The text starts with a name, and only `&` ends a value: `application/x-www-form-urlencoded`.
        case form
    }

    /// How many levels of percent-encoding are decoded to find URLs.
    private static let maximumEncodingDepth = 3

    /// Finds the values of parameters with names of secrets, and values that contain an encoded secret, such as a URL
    /// with a password.
    ///
    /// - Parameter wasEncoded: whether the bytes are the decoded value of a parameter. Then values that are encoded
    ///   again are not searched.
    static func parameters(in bytes: [UInt8], _ context: Context, wasEncoded: Bool = false) -> [SecretRange] {
        guard bytes.contains(UInt8(ascii: "=")) else { return [] }
        var ranges: [SecretRange] = []
        var nameKinds = SecretName.KindCache()
        // The start of a parameter's name, if the current bytes can belong to one.
        var nameStart = context == .form ? 0 : nil as Int?
        var isQuery = context == .form
        var index = 0
        // The end of the last JSON that was searched.
        var jsonEnd = 0
        while index < bytes.count {
            let byte = bytes[index]
            switch byte {
            case UInt8(ascii: "&"): nameStart = index + 1
            case _ where context == .form && byte != UInt8(ascii: "="): break
            case UInt8(ascii: "?"), UInt8(ascii: "#"): (nameStart, isQuery) = (index + 1, true)
            case UInt8(ascii: ";"): nameStart = index + 1
            case UInt8(ascii: "/") where !isQuery: nameStart = nil
            case UInt8(ascii: "="):
                guard let start = nameStart else { break }
                nameStart = nil
                let kind = nameKinds.kind(of: bytes[start..<index]) {
                    $0.contains(UInt8(ascii: "%")) ? CodedText(Array($0), .percent).decoded : nil
                }
                let isHidden =
                    if kind != .none {
                        SecretName.hides(
                            bytes[index + 1..<valueEnd(in: bytes, from: index + 1, isQuery: isQuery, context)], ofKind: kind)
                    } else {
                        !wasEncoded && containsEncodedSecret(bytes, from: index + 1, context)
                    }
                if isHidden {
                    let end = valueEnd(in: bytes, from: index + 1, isQuery: isQuery, context)
                    ranges.append(SecretRange(bytes: index + 1..<end, kind: .value))
                    index = end
                    continue
                }
                guard context == .form else { break }
                let value = bytes[(index + 1)...].prefix { $0 != UInt8(ascii: "&") }
                ranges += userInformation(in: Array(value)).map { $0.moved(by: index + 1) }
                if index + 1 >= jsonEnd, isShapedLikeJSON(value) {
                    // As in a JSON body, an `&` does not end the JSON.
                    let scan = json(bytes, from: index + 1)
                    ranges += scan.ranges
                    jsonEnd = scan.end
                }
            case _ where context == .text && isWordEnd(byte):
                // A space can follow the semicolon, as in `; name=value`.
                if nameStart == index, byte == UInt8(ascii: " ") { nameStart = index + 1 } else { (nameStart, isQuery) = (nil, false) }
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
        func directRanges(_ bytes: [UInt8]) -> [SecretRange] {
            UserInformation.ranges(in: bytes, includingReferences: includingReferences).map {
                SecretRange(bytes: $0, kind: .userInformation, atSignLength: 1)
            }
        }
        var ranges = directRanges(bytes)
        var texts: [CodedText] = []
        var decoded = bytes
        while texts.count < maximumEncodingDepth, decoded.contains(UInt8(ascii: "%")) {
            let text = CodedText(decoded, .percent)
            guard text.decoded.count < decoded.count else { break }
            decoded = text.decoded
            texts.append(text)
            ranges += texts.reversed().reduce(directRanges(decoded)) { $1.encoded($0) }
        }
        return ranges
    }

    private static func valueEnd(in bytes: [UInt8], from start: Int, isQuery: Bool, _ context: Context) -> Int {
        let end = bytes[start...].firstIndex { byte in
            switch byte {
            case UInt8(ascii: "&"): true
            case UInt8(ascii: "#"): context != .form
            case UInt8(ascii: ";"), UInt8(ascii: "/"), UInt8(ascii: "?"): !isQuery
            default: context == .text && isWordEnd(byte)
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
    private static func containsEncodedSecret(_ bytes: [UInt8], from start: Int, _ context: Context) -> Bool {
        // The search ends where the next name can start, so that no byte is searched twice.
        var (end, isEncoded) = (start, false)
        scan: while end < bytes.count {
            switch bytes[end] {
            case UInt8(ascii: "&"): break scan
            case UInt8(ascii: "?"), UInt8(ascii: "#"), UInt8(ascii: ";"), ...0x20: if context != .form { break scan }
            case UInt8(ascii: "%"): isEncoded = true
            default: break
            }
            end += 1
        }
        guard isEncoded else { return false }
        let decoded = CodedText(Array(bytes[start..<end]), .percent).decoded
        guard decoded.count < end - start else { return false }
        if isShapedLikeJSON(decoded), !json(decoded).ranges.isEmpty { return true }
        return !userInformation(in: decoded).isEmpty || !parameters(in: decoded, .text, wasEncoded: true).isEmpty
    }
}
