// SPDX-License-Identifier: Apache-2.0

import HTTPTypes
@_spi(Fuzzing) import PortolanCache

/// Applies the rules of the cache to two exchanges, and reads directives.
///
/// The first byte selects the statuses. Then come the fields of a request, its response, a second request and its
/// response, as lines, with an empty line between two messages. The value of each `Cache-Control` field without
/// quotes is compared with a reference.
///
/// Source: RFC 9111 §1.2.2, §3, §5.2.
enum CacheDirectivesCase {
    private static let statuses = [200, 206, 301, 304, 404, 503, 204, 302]
    private static let largest: Int64 = 1 << 31

    static func check(_ input: [UInt8]) throws(FuzzFinding) {
        let selector = Int(input.first ?? 0)
        let messages = messages(in: input.dropFirst())
        for value in messages.flatMap({ $0 }).filter({ $0.name == .cacheControl }).map(octets) { try checkDirectives(value) }
        func fields(_ index: Int) -> HTTPFields { index < messages.count ? HTTPFields(messages[index]) : HTTPFields() }
        let first = (request: fields(0), response: fields(1), status: statuses[selector % 8])
        let second = (request: fields(2), response: fields(3), status: statuses[selector / 8 % 8])
        // `try?` because the URL of the exchange is valid.
        guard let result = try? CacheFuzzing.exchange(first, second, now: 1_800_000_000),
            let again = try? CacheFuzzing.exchange(first, second, now: 1_800_000_000)
        else { throw FuzzFinding("the exchange has no result") }
        try require(result == again, "the rules say '\(result)' and then '\(again)'")
        guard result.hasPrefix("the stored response is fresh") else { return }
        try require(!has("no-store", in: first.request), "a response to a request with no-store is stored")
        try require(
            !has("no-store", in: first.response) || mayHave("must-understand", in: first.response), "a response with no-store is stored")
        for name in ["no-cache", "no-store"] { try require(!has(name, in: second.request), "a request with \(name) is answered") }
        try require(
            !has("no-cache", in: first.response) || mayHave("no-cache=", in: first.response), "a response with no-cache is used")
    }

    /// Numbers are in their limits, the case of letters and unknown directives do not matter, and the numbers of a
    /// value without quotes are those of the reference.
    private static func checkDirectives(_ value: [UInt8]) throws(FuzzFinding) {
        let seconds = CacheFuzzing.seconds(inDirectives: value)
        try require(
            seconds.allSatisfy { ($0 ?? 0) >= 0 && ($0 ?? 0) <= largest }, "\(text(value)) has numbers out of range: \(seconds)")
        guard !value.contains(UInt8(ascii: "\"")), !value.contains(UInt8(ascii: "\\")) else { return }
        let directives = directives(in: value)
        guard directives.count <= 64 else { return }
        let upper = value.map { (0x61...0x7A).contains($0) ? $0 - 0x20 : $0 }
        try require(CacheFuzzing.seconds(inDirectives: upper) == seconds, "the case of \(text(value)) matters")
        try require(
            CacheFuzzing.seconds(inDirectives: value + Array(", x-unknown=1".utf8)) == seconds,
            "an unknown directive changes \(text(value))")
        let maxAges = directives.filter { $0.name == "max-age" }.map { $0.seconds ?? 0 }
        try require(seconds[0] == maxAges.first, "max-age of the response \(text(value)) is \(String(describing: seconds[0]))")
        try require(seconds[3] == maxAges.min(), "max-age of the request \(text(value)) is \(String(describing: seconds[3]))")
        let minFresh = directives.filter { $0.name == "min-fresh" }.map { $0.seconds ?? largest }.max()
        try require(seconds[4] == minFresh, "min-fresh of \(text(value)) is \(String(describing: seconds[4]))")
    }

    // MARK: - Reference

    private struct Directive {
        let name: String
        let seconds: Int64?
    }

    /// The directives of a value without quotes.
    private static func directives(in value: [UInt8]) -> [Directive] {
        value.split(separator: UInt8(ascii: ",")).map { trimmed($0) }.filter { !$0.isEmpty }.map { member in
            let name = member.prefix { $0 != UInt8(ascii: "=") }
            let argument = member.dropFirst(name.count + 1)
            let hasBlank = trimmed(name).count != name.count || argument.first == 0x20 || argument.first == 0x09
            let isNumber = !argument.isEmpty && argument.allSatisfy { (0x30...0x39).contains($0) } && !hasBlank
            let digits = isNumber ? argument : []
            let number = digits.reduce(Int64(0)) { min(largest, $0 * 10 + Int64($1) - 0x30) }
            return Directive(name: text(trimmed(name)).lowercased(), seconds: isNumber ? number : nil)
        }
    }

    /// Whether a field without quotes has a directive without an argument.
    private static func has(_ name: String, in fields: HTTPFields) -> Bool {
        fields.filter { $0.name == .cacheControl }.map(octets).contains { value in
            !value.contains(UInt8(ascii: "\"")) && !value.contains(UInt8(ascii: "\\"))
                && value.split(separator: UInt8(ascii: ",")).contains { text(trimmed($0)).lowercased() == name }
        }
    }

    private static func mayHave(_ name: String, in fields: HTTPFields) -> Bool {
        fields.contains { $0.name == .cacheControl && text(octets($0)).lowercased().contains(name) }
    }

    private static func messages(in input: ArraySlice<UInt8>) -> [[HTTPField]] {
        var messages: [[HTTPField]] = [[]]
        for line in input.split(separator: UInt8(ascii: "\n"), omittingEmptySubsequences: false) {
            guard !line.isEmpty else {
                messages.append([])
                continue
            }
            let name = line.prefix { $0 != UInt8(ascii: ":") }
            let value = trimmed(line.dropFirst(name.count + 1))
            // No field can contain NUL or CR.
            guard let fieldName = HTTPField.Name(text(Array(name))), !value.contains(where: { $0 == 0 || $0 == 0x0D }) else { continue }
            messages[messages.count - 1].append(HTTPField(name: fieldName, value: value))
        }
        return messages
    }

    private static func octets(_ field: HTTPField) -> [UInt8] { unsafe field.withUnsafeBytesOfValue { unsafe Array($0) } }

    private static func text(_ octets: some Sequence<UInt8>) -> String { String(decoding: Array(octets), as: UTF8.self) }

    private static func trimmed(_ octets: ArraySlice<UInt8>) -> [UInt8] {
        var octets = octets
        while let first = octets.first, first == 0x20 || first == 0x09 { octets.removeFirst() }
        while let last = octets.last, last == 0x20 || last == 0x09 { octets.removeLast() }
        return Array(octets)
    }
}
