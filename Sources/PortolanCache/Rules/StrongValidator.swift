// SPDX-License-Identifier: Apache-2.0

package import HTTPTypes
import PortolanCore

/// A validator that two responses share only if their representations are identical octet for octet.
///
/// RFC 9110 §8.8.1
package enum StrongValidator: Hashable, Sendable {
    case entityTag([UInt8])
    /// The value of a `Last-Modified` that is at least a minute before the `Date` of its response.
    case lastModified([UInt8])

    /// `Last-Modified` counts as strong if it is at least this number of seconds before `Date`.
    ///
    /// RFC 9110 §8.8.2.2 demands a second if both come from the same clock, which a client can't know.
    static let distance: Int64 = 60

    /// The strong validator in the fields of a response. A weak entity tag excludes `Last-Modified`, because both
    /// describe the same representation.
    package init?(of fields: HTTPFields, now: Int64) {
        if fields.contains(.eTag) {
            guard let tag = EntityTag(of: fields), !tag.isWeak else { return nil }
            self = .entityTag(tag.octets)
            return
        }
        guard let validator = Self.lastModified(of: fields, now: now) else { return nil }
        self = validator
    }

    /// The `Last-Modified` of a response; `nil` if it is weak.
    ///
    /// RFC 9110 §8.8.2.2
    static func lastModified(of fields: HTTPFields, now: Int64) -> StrongValidator? {
        guard let octets = fields.firstOctets(of: .lastModified),
            let modified = HTTPDate(caching: octets, now: now)?.secondsSince1970,
            let date = HTTPDate.seconds(of: .date, in: fields, now: now), DeltaSeconds.difference(date, modified) >= distance
        else { return nil }
        return .lastModified(octets)
    }

    /// The value of `If-Range` for this validator.
    ///
    /// RFC 9110 §13.1.5
    package var ifRange: [UInt8] {
        switch self {
        case .entityTag(let octets), .lastModified(let octets): octets
        }
    }
}
