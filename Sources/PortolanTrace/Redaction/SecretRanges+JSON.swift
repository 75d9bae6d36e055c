// SPDX-License-Identifier: Apache-2.0

/// The result of a search in text that can be JSON.
struct JSONScan {
    var ranges: [SecretRange] = []
    /// Whether the text contains only what JSON allows.
    var isJSON = true
    /// The index after the searched value or text.
    var end: Int
}

extension SecretRanges {
    /// Finds the values of members with names of secrets, including everything nested in them. The text can be
    /// truncated, or contain several values.
    ///
    /// - Parameters:
    ///   - start: the start of an object or array. Only this value is searched. `nil` for the whole text.
    ///   - depth: the number of JSON strings around the text.
    static func json(_ bytes: [UInt8], from start: Int? = nil, depth: Int = 0) -> JSONScan {
        var scan = JSONScan(end: bytes.count)
        var names = SecretName.KindCache()
        // For each enclosing object or array, whether all of its contents are secret.
        var containers: [Bool] = []
        var name = SecretName.Kind.none
        var index = start ?? (bytes.starts(with: byteOrderMark) ? byteOrderMark.count : 0)
        while index < bytes.count {
            switch bytes[index] {
            case UInt8(ascii: "\""):
                let string = JSONStringScan(bytes, from: index + 1)
                let next = firstNonSpace(in: bytes, from: string.end + 1)
                if next < bytes.count, bytes[next] == UInt8(ascii: ":") {
                    name = names.kind(of: bytes[index + 1..<string.end]) { string.isEscaped ? CodedText(Array($0), .json).decoded : nil }
                    index = next
                } else {
                    let content = index + 1..<string.end
                    if containers.last == true || SecretName.hides(bytes[content], ofKind: name) {
                        scan.ranges.append(SecretRange(bytes: content, kind: .value))
                    } else if string.mayHideSecret {
                        let ranges = secrets(inString: Array(bytes[content]), string.isEscaped, depth: depth)
                        scan.ranges += ranges.map { $0.moved(by: index + 1) }
                    }
                    name = .none
                    index = string.end
                }
            case UInt8(ascii: "{"), UInt8(ascii: "["):
                containers.append(name != .none || containers.last == true)
                name = .none
            case UInt8(ascii: "}"), UInt8(ascii: "]"):
                if containers.popLast() == nil { scan.isJSON = false }
                name = .none
                if start != nil, containers.isEmpty {
                    scan.end = index + 1
                    return scan
                }
            case UInt8(ascii: ","): name = .none
            case UInt8(ascii: "-"), UInt8(ascii: "0")...UInt8(ascii: "9"):
                let first = index
                while index + 1 < bytes.count, bytes[index + 1].isPartOfNumber { index += 1 }
                if name != .none || containers.last == true { scan.ranges.append(SecretRange(bytes: first..<index + 1, kind: .number)) }
            case ...0x20, UInt8(ascii: ":"): break
            // true, false and null
            case UInt8(ascii: "a"), UInt8(ascii: "e"), UInt8(ascii: "f"), UInt8(ascii: "l"), UInt8(ascii: "n"), UInt8(ascii: "r"),
                UInt8(ascii: "s"), UInt8(ascii: "t"), UInt8(ascii: "u"):
                break
            default: scan.isJSON = false
            }
            index += 1
        }
        if !containers.isEmpty { scan.isJSON = false }
        return scan
    }

    private static let byteOrderMark: [UInt8] = [0xEF, 0xBB, 0xBF]

    /// Whether the bytes are an object or an array, or the beginning of one; a byte order mark can precede.
    static func isShapedLikeJSON(_ bytes: some Collection<UInt8>) -> Bool {
        let first = bytes.dropFirst(bytes.starts(with: byteOrderMark) ? byteOrderMark.count : 0).first { $0 > 0x20 }
        return first == UInt8(ascii: "{") || first == UInt8(ascii: "[")
    }

    private static func firstNonSpace(in bytes: [UInt8], from start: Int) -> Int {
        var index = start
        while index < bytes.count, bytes[index] <= 0x20 { index += 1 }
        return index
    }

    /// Finds secrets in a string whose name is not the name of a secret: passwords and parameters of URLs, and secrets
    /// in nested JSON.
    private static func secrets(inString content: [UInt8], _ isEscaped: Bool, depth: Int) -> [SecretRange] {
        guard isEscaped else { return secrets(inText: content, depth: depth) }
        let coded = CodedText(content, .json)
        return coded.encoded(secrets(inText: coded.decoded, depth: depth))
    }

    private static func secrets(inText text: [UInt8], depth: Int) -> [SecretRange] {
        var ranges: [SecretRange] = []
        if isShapedLikeJSON(text), depth < maximumDepth {
            let scan = json(text, depth: depth + 1)
            if scan.isJSON { return scan.ranges }
            ranges = scan.ranges
        }
        return ranges + userInformation(in: text) + parameters(in: text, .text)
    }
}

/// Finds the end of a JSON string, and whether it can contain a secret.
private struct JSONStringScan {
    /// The position of the closing quote, or the end of the text.
    let end: Int
    private(set) var isEscaped = false
    /// Whether the string contains a character of a URL with a password, of a parameter or of JSON. Otherwise it needs
    /// no search.
    private(set) var mayHideSecret = false

    init(_ bytes: [UInt8], from start: Int) {
        var index = start
        scan: while index < bytes.count {
            switch bytes[index] {
            case UInt8(ascii: "\""): break scan
            case UInt8(ascii: "\\"):
                isEscaped = true
                index += 1
                // A plain escape never stands for such a character. Other escapes can.
                if index < bytes.count, !Self.isPlainEscape(bytes[index]) { mayHideSecret = true }
            case UInt8(ascii: "@"), UInt8(ascii: "="), UInt8(ascii: "%"), UInt8(ascii: "{"), UInt8(ascii: "["): mayHideSecret = true
            default: break
            }
            index += 1
        }
        end = min(index, bytes.count)
    }

    private static func isPlainEscape(_ byte: UInt8) -> Bool {
        switch byte {
        case UInt8(ascii: "\""), UInt8(ascii: "\\"), UInt8(ascii: "/"), UInt8(ascii: "b"), UInt8(ascii: "f"), UInt8(ascii: "n"),
            UInt8(ascii: "r"), UInt8(ascii: "t"):
            true
        default: false
        }
    }
}

extension UInt8 {
    fileprivate var isPartOfNumber: Bool {
        switch self {
        case UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "+"), UInt8(ascii: "-"), UInt8(ascii: "."), UInt8(ascii: "e"),
            UInt8(ascii: "E"):
            true
        default: false
        }
    }
}
