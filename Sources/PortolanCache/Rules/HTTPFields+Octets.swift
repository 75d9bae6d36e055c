// SPDX-License-Identifier: Apache-2.0

import HTTPTypes
import PortolanHTTPSyntax

extension HTTPFields {
    /// Calls `body` with the octets of each value of a field, in order. A value need not be UTF-8.
    func forEachValue(of name: HTTPField.Name, _ body: (Span<UInt8>) -> Void) {
        for field in self where field.name == name { unsafe field.withUnsafeBytesOfValue { unsafe body($0.span) } }
    }

    /// The octets of the first value of a field, without the blanks around them; `nil` if the field is absent.
    func firstOctets(of name: HTTPField.Name) -> [UInt8]? {
        guard let field = first(where: { $0.name == name }) else { return nil }
        return unsafe field.withUnsafeBytesOfValue { unsafe $0.span.octets($0.span.trimmed(0..<$0.count)) }
    }

    /// Calls `body` with each non-empty member of a list-based field, in order, until `body` returns `false`.
    ///
    /// - Returns: whether `body` returned `true` for every member.
    @discardableResult
    func forEachMember(of name: HTTPField.Name, hasEscapes: Bool = true, _ body: (Span<UInt8>) -> Bool) -> Bool {
        var isAccepted = true
        forEachValue(of: name) { value in
            var members = ListMembers(hasEscapes: hasEscapes)
            while isAccepted, let member = members.next(in: value) {
                if !member.isEmpty { isAccepted = body(value.extracting(member)) }
            }
        }
        return isAccepted
    }

    /// Replaces all values of a field by one value.
    mutating func set(_ name: HTTPField.Name, _ value: some Collection<UInt8>) {
        self[fields: name] = [HTTPField(name: name, value: value)]
    }
}

extension HTTPField.Name {
    /// Makes a field name from octets; `nil` if they are no token.
    init?(octets: Span<UInt8>) { self.init(octets.utf8Text) }
}
