// SPDX-License-Identifier: Apache-2.0

package import HTTPTypes
import PortolanHTTPSyntax

/// The fields of a request that `Vary` of its response names, in a normal form. They select one of several stored
/// responses for a URL.
///
/// The request has the caller's fields and the stored cookies. A response is not stored if its `Vary` names a field
/// with credentials that are added to the request later.
///
/// RFC 9111 §4.1
package struct SelectingFields: Hashable, Sendable {
    /// A field name in lower case, and the field's value in normal form; `nil` if the request does not have the field.
    package struct Selector: Hashable, Sendable {
        package let name: String
        package let value: [UInt8]?

        package init(name: String, value: [UInt8]?) { (self.name, self.value) = (name, value) }
    }

    /// Sorted by name, each name once.
    package let selectors: [Selector]

    /// The largest number of names in `Vary`. A response with more matches no request.
    package static let limit = 64

    /// The selecting fields of a response without `Vary`.
    package init() { selectors = [] }
    /// Selecting fields that were stored.
    package init(_ selectors: [Selector]) { self.selectors = selectors }

    /// - Returns: `nil` if no request matches: `Vary` has an asterisk, a malformed name, or too many names.
    package init?(vary fields: HTTPFields, request: HTTPFields) {
        guard let names = Self.names(inVary: fields) else { return nil }
        selectors = names.sorted().map { Selector(name: $0, value: NormalizedField.value(of: $0, in: request)) }
    }

    /// These selecting fields for a response with a newer `Vary`; `nil` if it names other fields, because the request
    /// is not known any more.
    func kept(forVary fields: HTTPFields) -> SelectingFields? {
        Self.names(inVary: fields) == Set(selectors.map(\.name)) ? self : nil
    }

    private static func names(inVary fields: HTTPFields) -> Set<String>? {
        var names: Set<String> = []
        let isValid = fields.forEachMember(of: .vary) { member in
            if member.count == 1, member[0] == UInt8(ascii: "*") { return false }
            guard let name = HTTPField.Name(octets: member) else { return false }
            names.insert(name.canonicalName)
            return names.count <= limit
        }
        return isValid ? names : nil
    }

    /// Whether the response has no `Vary`.
    package var isEmpty: Bool { selectors.isEmpty }

    /// Whether a request selects the same response. An absent field matches only an absent field.
    package func matches(_ request: HTTPFields) -> Bool {
        selectors.allSatisfy { NormalizedField.value(of: $0.name, in: request) == $0.value }
    }
}

/// The normal form of a request field: two values with the same form mean the same.
///
/// RFC 9111 §4.1
enum NormalizedField {
    /// - Parameter name: in lower case.
    /// - Returns: `nil` if the request does not have the field.
    static func value(of name: String, in fields: HTTPFields) -> [UInt8]? {
        guard let fieldName = HTTPField.Name(name), fields.contains(fieldName) else { return nil }
        var members: [[UInt8]] = []
        fields.forEachValue(of: fieldName) { value in
            if texts.contains(name) {
                members.append(value.octets(value.trimmed(0..<value.count)))
            } else {
                var list = ListMembers()
                while let member = list.next(in: value) { members.append(value.octets(member)) }
            }
        }
        // The members of these lists may come in any order (RFC 9110 §12.5), and an empty one means nothing.
        if let isFolded = preferences[name] {
            members = members.filter { !$0.isEmpty }.map { preference($0, isFolded: isFolded) }
            members.sort { $0.lexicographicallyPrecedes($1) }
        }
        let separator = name == "cookie" ? Array("; ".utf8) : [.listComma]
        return Array(members.joined(separator: separator))
    }

    /// Fields that are no lists: a blank after a comma is a part of their value.
    private static let texts: Set = ["authorization", "cookie", "from", "host", "origin", "referer", "user-agent"]

    /// The fields with preferences, and whether the whole member is case-insensitive. In `Accept`, the value of a
    /// parameter need not be.
    private static let preferences = ["accept": false, "accept-charset": true, "accept-encoding": true, "accept-language": true]

    /// A member without blanks around its semicolons, without a weight of 1, and with its case-insensitive part in
    /// lower case.
    private static func preference(_ member: [UInt8], isFolded: Bool) -> [UInt8] {
        // A quoted string may have any octets, so such a member stays as it is.
        if member.contains(.quote) { return member }
        var parts = member.split(separator: .semicolon, omittingEmptySubsequences: false).map { part in
            let octets = Array(part)
            return octets.span.octets(octets.span.trimmed(0..<octets.count))
        }
        for index in parts.indices where isFolded || index == 0 || isWeight(parts[index]) { parts[index] = parts[index].map(\.lowercased) }
        if let last = parts.last, parts.count > 1, isWeightOfOne(last) { parts.removeLast() }
        return Array(parts.joined(separator: [.semicolon]))
    }

    private static func isWeight(_ part: [UInt8]) -> Bool {
        part.count >= 2 && part[0].lowercased == UInt8(ascii: "q") && part[1] == .equals
    }

    /// `q=1`, `q=1.` and `q=1.0` to `q=1.000` (RFC 9110 §12.4.2).
    private static func isWeightOfOne(_ part: [UInt8]) -> Bool {
        part.count <= 7 && part.starts(with: "q=1".utf8) && (part.count == 3 || part[3] == UInt8(ascii: "."))
            && part.dropFirst(4).allSatisfy { $0 == UInt8(ascii: "0") }
    }
}
