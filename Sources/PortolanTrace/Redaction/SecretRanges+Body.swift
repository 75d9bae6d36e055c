// SPDX-License-Identifier: Apache-2.0

import PortolanCore

extension SecretRanges {
    /// How many levels of nested multipart bodies, and of JSON in JSON strings, are searched.
    static let maximumDepth = 4

    /// Finds secrets in URL-encoded forms, multipart forms and JSON. The media type and the contents decide how the
    /// body is searched.
    static func body(_ bytes: [UInt8], type: MIMEType?, depth: Int = 0) -> [SecretRange] {
        let essence = type?.essence ?? ""
        if essence.hasPrefix("multipart/") {
            return depth < maximumDepth ? multipart(bytes, boundary: type?[parameter: "boundary"], depth: depth) : []
        }
        var ranges: [SecretRange] = []
        // Much JSON is sent with the type of a form, which is curl's default for `-d`. But a body that starts like JSON
        // can be a form.
        if essence.hasSuffix("json") || isShapedLikeJSON(bytes) {
            let scan = json(bytes)
            if scan.isJSON { return scan.ranges }
            ranges = scan.ranges
        }
        if essence == "application/x-www-form-urlencoded" || bytes.isShapedLikeForm { ranges += parameters(in: bytes, .form) }
        return ranges
    }

    // MARK: Multipart

    /// Finds the contents of parts with names of secrets, and the secrets in the other parts (RFC 7578).
    private static func multipart(_ bytes: [UInt8], boundary: String?, depth: Int) -> [SecretRange] {
        let delimiter = boundary.map { Array("--\($0)".utf8) } ?? Array(bytes.prefix { $0 != 0x0A && $0 != 0x0D })
        guard delimiter.count > 2, delimiter.starts(with: "--".utf8) else { return [] }
        var ranges: [SecretRange] = []
        var partStart: Int?
        var lineStart = 0
        while lineStart <= bytes.count {
            let nextLine = bytes[lineStart...].firstIndex(of: 0x0A).map { $0 + 1 } ?? bytes.count + 1
            if lineStart == bytes.count || bytes[lineStart...].starts(with: delimiter) {
                if let partStart { ranges += secrets(inPart: bytes[partStart..<max(partStart, lineStart)], depth: depth) }
                partStart = min(nextLine, bytes.count)
            }
            lineStart = nextLine
        }
        return ranges
    }

    private static func secrets(inPart part: ArraySlice<UInt8>, depth: Int) -> [SecretRange] {
        var (name, type, line) = (SecretName.Kind.none, nil as MIMEType?, part.startIndex)
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
            // The parameters have the syntax of those of a media type.
            case "content-disposition":
                let names = MIMEType(parsing: "x/\(value)")?.parameters.filter { $0.name == "name" || $0.name == "name*" } ?? []
                for parameter in names where name == .none { name = SecretName.kind(of: PercentEncoding.decodedBytes(parameter.value)) }
            default: break
            }
        }
        // The line break before a delimiter is part of the delimiter.
        var content = part[line...]
        if content.last == 0x0A { content.removeLast() }
        if content.last == 0x0D { content.removeLast() }
        if SecretName.hides(content, ofKind: name) { return [SecretRange(bytes: content.startIndex..<content.endIndex, kind: .value)] }
        let bytes = Array(content)
        var ranges = body(bytes, type: type, depth: depth + 1)
        if type == nil { ranges += userInformation(in: bytes) }
        return ranges.map { $0.moved(by: line) }
    }
}

extension [UInt8] {
    /// Whether the bytes contain names and values, and no byte that a form would encode.
    fileprivate var isShapedLikeForm: Bool {
        let end = last == 0x0A ? count - 1 : count
        return contains(UInt8(ascii: "="))
            && self[..<end].allSatisfy { (0x21...0x7E).contains($0) && $0 != UInt8(ascii: "<") && $0 != UInt8(ascii: "\"") }
    }
}
