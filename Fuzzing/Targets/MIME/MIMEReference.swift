// SPDX-License-Identifier: Apache-2.0

/// Implements "parse a MIME type" slowly, code point by code point, for comparison with the fast parser.
///
/// Source: WHATWG MIME Sniffing, section 4.4; Fetch, "collect an HTTP quoted string".
struct MIMEReference: Equatable {
    let essence: String
    /// The name and value of each parameter.
    private(set) var parameters: [[String]]

    private typealias Scalars = ArraySlice<Unicode.Scalar>

    init(essence: String, parameters: [[String]]) {
        self.essence = essence
        self.parameters = parameters
    }

    init?(parsing text: String) {
        var input = Self.trimmed(Array(text.unicodeScalars)[...])
        let type = Self.collect(&input) { $0 != "/" }
        guard !type.isEmpty, type.allSatisfy(Self.isToken), !input.isEmpty else { return nil }
        input.removeFirst()
        let subtype = Self.trimmedAtEnd(Self.collect(&input) { $0 != ";" })
        guard !subtype.isEmpty, subtype.allSatisfy(Self.isToken) else { return nil }
        essence = Self.lowercased(type) + "/" + Self.lowercased(subtype)
        parameters = []
        while !input.isEmpty {
            input.removeFirst()
            _ = Self.collect(&input, while: Self.isWhitespace)
            let name = Self.lowercased(Self.collect(&input) { $0 != ";" && $0 != "=" })
            if let next = input.first {
                if next == ";" { continue }
                input.removeFirst()
            }
            guard let first = input.first else { break }
            let value: [Unicode.Scalar]
            if first == "\"" {
                value = Self.collectQuoted(&input)
                _ = Self.collect(&input) { $0 != ";" }
            } else {
                value = Array(Self.trimmedAtEnd(Self.collect(&input) { $0 != ";" }))
                if value.isEmpty { continue }
            }
            let isNameLegal = !name.isEmpty && name.unicodeScalars.allSatisfy(Self.isToken)
            guard isNameLegal, value.allSatisfy(Self.isQuotable), !parameters.contains(where: { $0[0] == name }) else { continue }
            parameters.append([name, Self.text(value[...])])
        }
    }

    private static func collectQuoted(_ input: inout Scalars) -> [Unicode.Scalar] {
        var value: [Unicode.Scalar] = []
        input.removeFirst()
        while true {
            value += collect(&input) { $0 != "\"" && $0 != "\\" }
            guard let quoteOrBackslash = input.popFirst() else { return value }
            guard quoteOrBackslash == "\\" else { return value }
            value.append(input.popFirst() ?? "\\")
        }
    }

    private static func collect(_ input: inout Scalars, while condition: (Unicode.Scalar) -> Bool) -> Scalars {
        let collected = input.prefix(while: condition)
        input = input.dropFirst(collected.count)
        return collected
    }

    private static func trimmed(_ input: Scalars) -> Scalars {
        trimmedAtEnd(input.drop(while: isWhitespace))
    }

    private static func trimmedAtEnd(_ input: Scalars) -> Scalars {
        var rest = input
        while let last = rest.last, isWhitespace(last) { rest.removeLast() }
        return rest
    }

    private static func text(_ scalars: Scalars) -> String {
        var text = String.UnicodeScalarView()
        text.append(contentsOf: scalars)
        return String(text)
    }

    private static func lowercased(_ scalars: Scalars) -> String {
        text(scalars.map { ("A"..."Z").contains($0) ? Unicode.Scalar(UInt8($0.value) + 32) : $0 }[...])
    }

    private static func isWhitespace(_ scalar: Unicode.Scalar) -> Bool { ["\t", "\n", "\r", " "].contains(scalar) }

    static func isToken(_ scalar: Unicode.Scalar) -> Bool {
        switch scalar {
        case "0"..."9", "A"..."Z", "a"..."z": true
        default: "!#$%&'*+-.^_`|~".unicodeScalars.contains(scalar)
        }
    }

    static func isQuotable(_ scalar: Unicode.Scalar) -> Bool {
        scalar == "\t" || (" "..."~").contains(scalar) || ("\u{80}"..."\u{FF}").contains(scalar)
    }
}
