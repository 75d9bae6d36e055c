// SPDX-License-Identifier: Apache-2.0

/// An XML element as Valgrind writes it. It contains either text or elements, and its attributes are ignored.
struct XMLElement: Equatable {
    let name: String
    private(set) var text = ""
    private(set) var children: [XMLElement] = []

    init(_ name: String) { self.name = name }

    /// The first child with that name.
    subscript(_ name: String) -> XMLElement? { children.first { $0.name == name } }

    fileprivate mutating func append(_ child: XMLElement) { children.append(child) }
    fileprivate mutating func append(text: String) { self.text += text }
}

/// Reads the children of the root one by one, from a document that can be cut off anywhere because its writer was
/// killed.
///
/// Supports the XML that Valgrind writes (its docs/internals/xml-output-protocol4.txt): elements, text, the five
/// entities and character references. Stops at everything else, and at parts larger than any that Valgrind writes.
struct XMLReader {
    private let bytes: [UInt8]
    private var place = 0
    private var isInRoot = false
    /// Whether the end tag of the root was read, so that nothing is missing.
    private(set) var isWhole = false

    private static let (largestDepth, largestCount, largestText, largestName) = (8, 512, 4096, 64)

    init(_ bytes: [UInt8]) { self.bytes = bytes }

    /// The next child of the root; `nil` at the end, and if the document is damaged or cut off.
    mutating func next() -> XMLElement? {
        if !isInRoot {
            guard nextTag()?.kind == .start else { return nil }
            isInRoot = true
        }
        guard !isWhole, let tag = nextTag() else { return nil }
        switch tag.kind {
        case .start: return element(tag.name, depth: 1)
        case .empty: return XMLElement(tag.name)
        case .end:
            isWhole = true
            return nil
        }
    }

    private struct Tag {
        enum Kind { case start, end, empty }
        let kind: Kind
        let name: String
    }

    /// The element after its start tag, up to its end tag.
    private mutating func element(_ name: String, depth: Int) -> XMLElement? {
        var element = XMLElement(name)
        while true {
            element.append(text: text())
            guard let tag = nextTag() else { return nil }
            switch tag.kind {
            case .end: return tag.name == name ? element : nil
            case .empty: element.append(XMLElement(tag.name))
            case .start:
                guard depth < Self.largestDepth, let child = self.element(tag.name, depth: depth + 1) else { return nil }
                element.append(child)
            }
            guard element.children.count <= Self.largestCount else { return nil }
        }
    }

    /// The next tag, after text and the declaration `<?xml …?>`; `nil` if there is no complete tag.
    private mutating func nextTag() -> Tag? {
        while true {
            while place < bytes.count, bytes[place] != UInt8(ascii: "<") { place += 1 }
            let rest = bytes[place...].dropFirst()
            guard let end = rest.firstIndex(of: UInt8(ascii: ">")) else { return nil }
            place = end + 1
            let inside = bytes[rest.startIndex..<end]
            if inside.first == UInt8(ascii: "?") { continue }
            let isEnd = inside.first == UInt8(ascii: "/")
            let isEmpty = inside.last == UInt8(ascii: "/")
            let name = inside.dropFirst(isEnd ? 1 : 0).prefix { Self.isNameByte($0) }
            guard !name.isEmpty, name.count <= Self.largestName else { return nil }
            return Tag(kind: isEnd ? .end : isEmpty ? .empty : .start, name: String(decoding: name, as: UTF8.self))
        }
    }

    private static func isNameByte(_ byte: UInt8) -> Bool {
        switch byte {
        case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"), UInt8(ascii: "0")...UInt8(ascii: "9"),
            UInt8(ascii: "_"), UInt8(ascii: "-"):
            true
        default: false
        }
    }

    /// The text before the next tag, truncated if it is long.
    private mutating func text() -> String {
        let start = place
        while place < bytes.count, bytes[place] != UInt8(ascii: "<") { place += 1 }
        let run = bytes[start..<place].prefix(Self.largestText)
        let text = String(decoding: run, as: UTF8.self)
        guard let first = text.firstIndex(where: { !$0.isWhitespace }), let last = text.lastIndex(where: { !$0.isWhitespace }) else {
            return ""
        }
        return Self.unescaped(text[first...last])
    }

    private static let entities: [Substring: Character] = ["lt": "<", "gt": ">", "amp": "&", "quot": "\"", "apos": "'"]

    /// Replaces known entities; unknown entities stay as they are.
    private static func unescaped(_ text: Substring) -> String {
        guard text.contains("&") else { return String(text) }
        var result = ""
        var rest = text
        while let ampersand = rest.firstIndex(of: "&") {
            result += rest[..<ampersand]
            rest = rest[ampersand...]
            guard let end = rest.firstIndex(of: ";"), let character = character(rest[..<end].dropFirst()) else {
                result.append(rest.removeFirst())
                continue
            }
            result.append(character)
            rest = rest[rest.index(after: end)...]
        }
        return result + rest
    }

    private static func character(_ name: Substring) -> Character? {
        if let entity = entities[name] { return entity }
        guard name.hasPrefix("#"), name.count <= 8 else { return nil }
        let number = name.hasPrefix("#x") ? UInt32(name.dropFirst(2), radix: 16) : UInt32(name.dropFirst())
        return number.flatMap { UnicodeScalar($0) }.map { Character($0) }
    }
}
