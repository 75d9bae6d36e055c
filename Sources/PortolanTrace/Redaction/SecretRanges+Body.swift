// SPDX-License-Identifier: Apache-2.0

import PortolanCore
import PortolanJSON

extension SecretRanges {
    /// Parts lie no deeper in each other.
    private static let deepestPart = 4

    /// Where secrets stand in a body: in URL-encoded forms, multipart forms and JSON, by its type, and where that says nothing by how it begins.
    static func body(_ bytes: [UInt8], type: MIMEType?, depth: Int = 0) -> [SecretRange] {
        let essence = type?.essence ?? ""
        if essence.hasPrefix("multipart/") {
            return depth < deepestPart ? multipart(bytes, boundary: type?[parameter: "boundary"], depth: depth) : []
        }
        // First how it begins: much JSON is sent with the type of a form, which is curl's for `-d`.
        if essence.hasSuffix("json") || isShapedLikeJSON(bytes) { return json(bytes) }
        if essence == "application/x-www-form-urlencoded" { return parameters(in: bytes, .form) }
        return bytes.isShapedLikeForm ? parameters(in: bytes, .form) : []
    }

    // MARK: JSON

    /// The values of members whose names are those of secrets, and everything in them; also where the text is cut off, or has several values.
    ///
    /// - Parameter depth: how many strings of JSON it lies in.
    static func json(_ bytes: [UInt8], depth: Int = 0) -> [SecretRange] {
        var ranges: [SecretRange] = []
        // Of the containers around: whether all in them is secret.
        var containers: [Bool] = []
        var isNamed = false
        var index = 0
        while index < bytes.count {
            let isSecret = isNamed || containers.last == true
            switch bytes[index] {
            case UInt8(ascii: "\""):
                let end = stringEnd(in: bytes, from: index + 1)
                let content = index + 1..<end
                let next = bytes[min(end + 1, bytes.count)...].firstIndex { $0 > 0x20 }
                if let next, bytes[next] == UInt8(ascii: ":") {
                    isNamed = SecretName.isSecret(unescaped(bytes[content]))
                    index = next
                } else {
                    if isSecret {
                        ranges.append(SecretRange(bytes: content, kind: .value))
                    } else {
                        ranges += string(bytes[content], depth: depth)
                    }
                    isNamed = false
                    index = end
                }
            case UInt8(ascii: "{"), UInt8(ascii: "["):
                containers.append(isSecret)
                isNamed = false
            case UInt8(ascii: "}"), UInt8(ascii: "]"):
                _ = containers.popLast()
                isNamed = false
            case UInt8(ascii: ","): isNamed = false
            case UInt8(ascii: "-"), UInt8(ascii: "0")...UInt8(ascii: "9"):
                let end = bytes[index...].firstIndex { !$0.isOfNumber } ?? bytes.count
                if isSecret { ranges.append(SecretRange(bytes: index..<end, kind: .number)) }
                index = end - 1
            default: break
            }
            index += 1
        }
        return ranges
    }

    /// Whether it is an object or an array, or the beginning of one; behind a byte order mark, too.
    static func isShapedLikeJSON(_ bytes: [UInt8]) -> Bool {
        let first = bytes.dropFirst(bytes.starts(with: [0xEF, 0xBB, 0xBF]) ? 3 : 0).first { $0 > 0x20 }
        return first == UInt8(ascii: "{") || first == UInt8(ascii: "[")
    }

    /// In a string that has no secret's name: passwords and parameters of URLs, and what is secret in a text of JSON.
    private static func string(_ content: ArraySlice<UInt8>, depth: Int) -> [SecretRange] {
        let passwords = userInformation(in: content).map { $0.moved(by: content.startIndex) }
        let text = UnescapedString(content)
        if isShapedLikeJSON(text.bytes) {
            return depth < deepestPart ? json(text.bytes, depth: depth + 1).map(text.escaped) : passwords
        }
        return passwords + parameters(in: text.bytes, .text).map(text.escaped)
    }

    /// Where the closing quote stands, or the text ends.
    private static func stringEnd(in bytes: [UInt8], from start: Int) -> Int {
        var index = start
        while index < bytes.count, bytes[index] != UInt8(ascii: "\"") { index += bytes[index] == UInt8(ascii: "\\") ? 2 : 1 }
        return min(index, bytes.count)
    }

    private static func unescaped(_ name: ArraySlice<UInt8>) -> [UInt8] {
        guard name.contains(UInt8(ascii: "\\")) else { return Array(name) }
        // `try?` because what is no JSON is compared as it is.
        guard case .string(let text)? = try? JSONParser.parse([UInt8(ascii: "\"")] + name + [UInt8(ascii: "\"")]) else {
            return Array(name)
        }
        return Array(text.utf8)
    }

    // MARK: Multipart

    /// The contents of parts whose names are those of secrets, and what is secret in the others (RFC 7578).
    private static func multipart(_ bytes: [UInt8], boundary: String?, depth: Int) -> [SecretRange] {
        let delimiter = boundary.map { Array("--\($0)".utf8) } ?? Array(bytes.prefix { $0 != 0x0A && $0 != 0x0D })
        guard delimiter.count > 2, delimiter.starts(with: "--".utf8) else { return [] }
        var ranges: [SecretRange] = []
        var part: Int?
        var line = 0
        while line <= bytes.count {
            let next = bytes[line...].firstIndex(of: 0x0A).map { $0 + 1 } ?? bytes.count + 1
            if line == bytes.count || bytes[line...].starts(with: delimiter) {
                if let part { ranges += contents(of: bytes[part..<max(part, line)], depth: depth) }
                part = min(next, bytes.count)
            }
            line = next
        }
        return ranges
    }

    private static func contents(of part: ArraySlice<UInt8>, depth: Int) -> [SecretRange] {
        var (isSecret, type, line) = (false, nil as MIMEType?, part.startIndex)
        while line < part.endIndex {
            let end = part[line...].firstIndex(of: 0x0A) ?? part.endIndex
            let text = String(decoding: part[line..<end].filter { $0 != 0x0D }, as: UTF8.self)
            line = min(end + 1, part.endIndex)
            if text.isEmpty { break }
            let pieces = text.split(separator: ":", maxSplits: 1)
            guard pieces.count == 2 else { continue }
            let value = pieces[1].drop { $0 == " " || $0 == "\t" }
            switch pieces[0].lowercased() {
            case "content-type": type = MIMEType(parsing: String(value))
            // Its parameters have the syntax of a type's.
            case "content-disposition":
                let names = MIMEType(parsing: "x/\(value)")?.parameters.filter { $0.name == "name" || $0.name == "name*" } ?? []
                isSecret = isSecret || names.contains { SecretName.isSecret(PercentEncoding.decodedBytes($0.value)) }
            default: break
            }
        }
        // The line break before a delimiter belongs to it.
        var content = part[line...]
        if content.last == 0x0A { content.removeLast() }
        if content.last == 0x0D { content.removeLast() }
        if isSecret { return [SecretRange(bytes: content.startIndex..<content.endIndex, kind: .value)] }
        if let type { return body(Array(content), type: type, depth: depth + 1).map { $0.moved(by: line) } }
        return userInformation(in: content).map { $0.moved(by: line) }
    }
}

/// What a string of JSON says (RFC 8259 §7), and where each byte of it stands. Scalars beyond ASCII that are escaped are `?`.
private struct UnescapedString {
    private(set) var bytes: [UInt8] = []
    /// One more than there are bytes: the end of the string.
    private var places: [Int] = []

    init(_ content: ArraySlice<UInt8>) {
        var rest = content
        while let byte = rest.first {
            places.append(rest.startIndex)
            if byte == UInt8(ascii: "\\"), let kind = rest.dropFirst().first {
                if kind == UInt8(ascii: "u") {
                    let digits = String(decoding: rest.dropFirst(2).prefix(4), as: UTF8.self)
                    bytes.append(UInt8(digits, radix: 16).flatMap { $0 < 0x80 ? $0 : nil } ?? UInt8(ascii: "?"))
                    rest = rest.dropFirst(6)
                } else {
                    bytes.append(Self.meanings[kind] ?? kind)
                    rest = rest.dropFirst(2)
                }
            } else {
                bytes.append(byte)
                rest = rest.dropFirst()
            }
        }
        places.append(content.endIndex)
    }

    private static let meanings: [UInt8: UInt8] = [
        UInt8(ascii: "n"): 0x0A, UInt8(ascii: "r"): 0x0D, UInt8(ascii: "t"): 0x09, UInt8(ascii: "b"): 0x08, UInt8(ascii: "f"): 0x0C,
    ]

    /// Where a range of the unescaped bytes stands.
    func escaped(_ range: SecretRange) -> SecretRange {
        SecretRange(bytes: places[range.bytes.lowerBound]..<places[range.bytes.upperBound], kind: range.kind)
    }
}

extension UInt8 {
    fileprivate var isOfNumber: Bool {
        switch self {
        case UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "+"), UInt8(ascii: "-"), UInt8(ascii: "."), UInt8(ascii: "e"),
            UInt8(ascii: "E"):
            true
        default: false
        }
    }
}

extension [UInt8] {
    /// Whether there are names and values, and nothing that such a form would have encoded.
    fileprivate var isShapedLikeForm: Bool {
        let end = last == 0x0A ? count - 1 : count
        return contains(UInt8(ascii: "="))
            && self[..<end].allSatisfy { (0x21...0x7E).contains($0) && $0 != UInt8(ascii: "<") && $0 != UInt8(ascii: "\"") }
    }
}
