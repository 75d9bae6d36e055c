// SPDX-License-Identifier: Apache-2.0

import HTTPTypes
import PortolanHTTPSyntax

/// One directive of `Cache-Control`, as ranges of the octets from which it was parsed.
///
/// The grammar allows no blanks around the equals sign. A directive with such blanks is recognised, but its argument is
/// malformed. So `no-cache =x` counts as `no-cache`, and `max-age =x` as a `max-age` that is malformed.
///
/// RFC 9111 §5.2
struct CacheDirective {
    enum Argument: Hashable, Sendable {
        case none
        case token(Range<Int>)
        /// With its quotes.
        case quoted(Range<Int>)
        case malformed
    }

    let name: Range<Int>
    let argument: Argument

    /// - Parameter member: the directive in the field's value, without blanks around it.
    init(_ member: Range<Int>, in value: Span<UInt8>) {
        var equals = member.lowerBound
        while equals < member.upperBound, value[equals] != .equals { equals += 1 }
        name = value.trimmed(member.lowerBound..<equals)
        let text = min(equals + 1, member.upperBound)..<member.upperBound
        if equals == member.upperBound {
            argument = .none
        } else if text.isEmpty || name.upperBound != equals || value[text.lowerBound].isBlank {
            argument = .malformed
        } else {
            argument = value[text.lowerBound] == .quote ? .quoted(text) : .token(text)
        }
    }

    /// The argument without quotes and escapes; `nil` if there is none, or if it is malformed.
    func octets(in value: Span<UInt8>) -> [UInt8]? {
        switch argument {
        case .none, .malformed: nil
        case .token(let range): value.octets(range)
        case .quoted(let range): value.unquoted(range)
        }
    }

    /// The argument as seconds, quoted or not; `nil` if it is not a number.
    ///
    /// RFC 9111 §1.2.2, §5.2
    func seconds(in value: Span<UInt8>) -> Int64? {
        switch argument {
        case .none, .malformed: nil
        case .token(let range): DeltaSeconds.parse(value.extracting(range))
        case .quoted(let range): value.unquoted(range).flatMap { DeltaSeconds.parse($0.span) }
        }
    }

    /// The field names in the argument; `nil` if there is none, or if one is malformed.
    ///
    /// Senders should quote the argument, but many do not.
    ///
    /// RFC 9111 §5.2.2.4, §5.2.2.7
    func fieldNames(in value: Span<UInt8>) -> [HTTPField.Name]? {
        guard let list = octets(in: value) else { return nil }
        var names: [HTTPField.Name] = []
        var members = ListMembers()
        while let member = members.next(in: list.span) {
            if member.isEmpty { continue }
            guard names.count < Self.fieldNameLimit, let name = HTTPField.Name(octets: list.span.extracting(member)) else { return nil }
            names.append(name)
        }
        return names.isEmpty ? nil : names
    }

    /// The largest number of directives in the fields of a message.
    static let limit = 128
    /// The largest number of field names in an argument.
    static let fieldNameLimit = 64

    /// Calls `body` with each directive in all `Cache-Control` fields, in order.
    ///
    /// - Returns: `false` if there are more directives than the limit. The others were not read.
    static func forEach(in fields: HTTPFields, _ body: (CacheDirective, Span<UInt8>) -> Void) -> Bool {
        var count = 0
        var isComplete = true
        fields.forEachValue(of: .cacheControl) { value in
            var members = ListMembers()
            while isComplete, let member = members.next(in: value) {
                if member.isEmpty { continue }
                count += 1
                isComplete = count <= limit
                if isComplete { body(CacheDirective(member, in: value), value) }
            }
        }
        return isComplete
    }
}
