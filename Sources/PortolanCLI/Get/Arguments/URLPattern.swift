// SPDX-License-Identifier: Apache-2.0

/// A URL with sets and ranges, as in curl: `http://h/{a,b}/[01-10].txt`.
///
/// Brackets without a range, such as those of an IPv6 address or of `a[]=1`, and braces without a comma stand for
/// themselves.
struct URLPattern {
    /// One of the URLs, and the texts that were filled in, in order.
    struct Expansion: Equatable {
        var url = ""
        var parts: [String] = []
    }

    /// The largest number of URLs.
    static let limit = 100_000

    private enum Piece {
        case text(String)
        case choice([String])
    }

    private let pieces: [Piece]

    /// Only `http:` and `https:` URLs, and those without a scheme, are patterns.
    ///
    /// - Throws: ``Failure`` if the pattern has too many URLs.
    init(parsing text: String) throws(Failure) {
        let lowercased = text.lowercased()
        guard ["http://", "https://"].contains(where: lowercased.hasPrefix) || !text.prefix(while: { !"/?#".contains($0) }).contains(":")
        else {
            pieces = [.text(text)]
            return
        }
        var pieces: [Piece] = []
        var (literal, rest) = ("", text[...])
        while let character = rest.popFirst() {
            if character == "\\", let escaped = rest.first, "{}[]".contains(escaped) {
                literal.append(rest.removeFirst())
                continue
            }
            let close: Character? = character == "{" ? "}" : character == "[" ? "]" : nil
            guard let close, let end = rest.firstIndex(of: close),
                let values = close == "}" ? Self.set(rest[..<end]) : Self.range(rest[..<end])
            else {
                literal.append(character)
                continue
            }
            pieces += [.text(literal), .choice(values)]
            (literal, rest) = ("", rest[rest.index(after: end)...])
        }
        self.pieces = pieces + [.text(literal)]
        var count = 1
        for case .choice(let values) in pieces {
            let (product, overflows) = count.multipliedReportingOverflow(by: values.count)
            guard !overflows, product <= Self.limit else {
                throw Failure(
                    .badURL, "the pattern stands for more than \(Self.limit) URLs; use a smaller range, or --globoff for the text itself")
            }
            count = product
        }
    }

    /// The URLs for which the pattern stands, in order.
    var expansions: [Expansion] {
        pieces.reduce([Expansion()]) { expansions, piece in
            switch piece {
            case .text(let text): expansions.map { Expansion(url: $0.url + text, parts: $0.parts) }
            case .choice(let values):
                expansions.flatMap { start in values.map { Expansion(url: start.url + $0, parts: start.parts + [$0]) } }
            }
        }
    }

    private static func set(_ text: Substring) -> [String]? {
        guard text.contains(","), !text.contains("{") else { return nil }
        return text.split(separator: ",", omittingEmptySubsequences: false).map(String.init)
    }

    /// `1-10`, `01-10`, `a-z`, and with a step `1-10:2`; `nil` for another text.
    private static func range(_ text: Substring) -> [String]? {
        let halves = text.split(separator: ":", omittingEmptySubsequences: false)
        let ends = halves.first?.split(separator: "-", omittingEmptySubsequences: false) ?? []
        let step = halves.count == 2 ? Int(halves[1]) : halves.count == 1 ? 1 : nil
        guard ends.count == 2, let first = ends.first, let last = ends.last, let step, step > 0 else { return nil }
        if let low = Int(first), let high = Int(last), low <= high {
            // More values than the limit, so that the caller throws the error.
            guard (high - low) / step < limit else { return Array(repeating: "", count: limit + 1) }
            let width = first.hasPrefix("0") && first.count > 1 ? first.count : 0
            return stride(from: low, through: high, by: step).map { number in
                let digits = String(number)
                return String(repeating: "0", count: max(0, width - digits.count)) + digits
            }
        }
        guard first.count == 1, last.count == 1, let low = first.first?.asciiValue, let high = last.first?.asciiValue, low <= high,
            first.first?.isLetter == true, last.first?.isLetter == true
        else { return nil }
        return stride(from: Int(low), through: Int(high), by: step).compactMap { UInt8(exactly: $0).map { String(Unicode.Scalar($0)) } }
    }
}

extension URLPattern.Expansion {
    /// Replaces `#1`, `#2` and so on in the name of a file by the parts of the URL.
    func filling(_ name: String) -> String {
        var (result, rest) = ("", name[...])
        while let character = rest.popFirst() {
            let digits = rest.prefix { $0.isASCII && $0.isNumber }
            if character == "#", let number = Int(digits), parts.indices.contains(number - 1) {
                result += parts[number - 1]
                rest = rest.dropFirst(digits.count)
            } else {
                result.append(character)
            }
        }
        return result
    }
}
