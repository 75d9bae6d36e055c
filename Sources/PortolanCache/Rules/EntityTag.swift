// SPDX-License-Identifier: Apache-2.0

package import HTTPTypes
import PortolanHTTPSyntax

/// The entity tag of a representation.
///
/// Some servers send a tag without quotes, or with `w/`. Such a tag is kept and returned as it is, because the server
/// knows it. It never counts as strong.
///
/// RFC 9110 §8.8.3
package struct EntityTag: Hashable, Sendable {
    /// All octets, as they are sent.
    package let octets: [UInt8]
    package let isWeak: Bool
    /// The tag with its quotes, without `W/`.
    private let opaque: [UInt8]

    /// The largest number of octets. A longer tag does not count as a validator.
    package static let limit = 1024

    init?(_ value: Span<UInt8>) {
        let range = value.trimmed(0..<value.count)
        guard !range.isEmpty, range.count <= Self.limit else { return nil }
        octets = value.octets(range)
        let hasPrefix = octets.count >= 2 && octets[0] | 0x20 == UInt8(ascii: "w") && octets[1] == UInt8(ascii: "/")
        opaque = hasPrefix ? Array(octets.dropFirst(2)) : octets
        isWeak = hasPrefix || !Self.isQuoted(opaque)
    }

    /// The tag of a response; `nil` if there is none, or if there are several different ones.
    package init?(of fields: HTTPFields) {
        var values: Set<[UInt8]> = []
        fields.forEachValue(of: .eTag) { value in values.insert(value.octets(value.trimmed(0..<value.count))) }
        guard values.count == 1, let tag = values.first.flatMap({ EntityTag($0.span) }) else { return nil }
        self = tag
    }

    /// `opaque-tag` of RFC 9110 §8.8.3: a backslash is no escape.
    private static func isQuoted(_ octets: [UInt8]) -> Bool {
        octets.count >= 2 && octets.first == .quote && octets.last == .quote && !octets.dropFirst().dropLast().contains(.quote)
    }

    /// RFC 9110 §8.8.3.2
    package func weaklyMatches(_ other: EntityTag) -> Bool { opaque == other.opaque }

    /// RFC 9110 §8.8.3.2
    package func stronglyMatches(_ other: EntityTag) -> Bool { !isWeak && !other.isWeak && opaque == other.opaque }
}

/// The value of `If-None-Match`: an asterisk, or a list of entity tags.
///
/// RFC 9110 §13.1.2
package struct EntityTagCondition: Hashable, Sendable {
    package private(set) var isAny = false
    package private(set) var tags: [EntityTag] = []

    /// The largest number of tags. A condition with more is not evaluated.
    package static let limit = 256

    /// Parses all `If-None-Match` fields; `nil` if there are none, or too many tags.
    package init?(ifNoneMatch fields: HTTPFields) {
        guard fields.contains(.ifNoneMatch) else { return nil }
        let isComplete = fields.forEachMember(of: .ifNoneMatch, hasEscapes: false) { member in
            if member.count == 1, member[0] == UInt8(ascii: "*") {
                isAny = true
            } else if let tag = EntityTag(member) {
                tags.append(tag)
            }
            return tags.count <= Self.limit
        }
        if !isComplete { return nil }
    }

    /// Whether the condition fails for a representation with this tag, so that the response is 304.
    package func matches(_ tag: EntityTag?) -> Bool {
        isAny || tag.map { tag in tags.contains { $0.weaklyMatches(tag) } } ?? false
    }
}
