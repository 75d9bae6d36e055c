// SPDX-License-Identifier: Apache-2.0

import PortolanCore

/// Which octets of a representation a stored response has.
///
/// RFC 9111 §3.3
package enum StoredContent: Hashable, Sendable {
    /// All octets.
    case complete(length: Int64)
    /// Some octets. The length of the representation is `nil` if it is unknown.
    case partial(ByteRangeSet, completeLength: Int64?)

    package var isComplete: Bool {
        if case .complete = self { true } else { false }
    }

    package var completeLength: Int64? {
        switch self {
        case .complete(let length): length
        case .partial(_, let length): length
        }
    }

    package var ranges: ByteRangeSet {
        switch self {
        case .complete(let length): ByteRangeSet(0..<max(0, length))
        case .partial(let ranges, _): ranges
        }
    }

    /// The content with these octets: complete if none is missing.
    package init(_ ranges: ByteRangeSet, completeLength: Int64?) {
        if let completeLength, completeLength >= 0, ranges.contains(0..<completeLength) {
            self = .complete(length: completeLength)
        } else {
            self = .partial(ranges, completeLength: completeLength)
        }
    }

    /// The octets that a request with these ranges gets from this content: one range, or ``Answer/missing`` if the
    /// content can't answer the request.
    ///
    /// Ranges that overlap or touch are one range (RFC 9110 §14.2). Several ranges would need `multipart/byteranges`,
    /// so the server answers such a request.
    func range(for requested: [ByteRange]) -> Answer {
        guard let length = completeLength else {
            // Without the length, only a range with both ends is known.
            guard requested.count == 1, case .from(let first, through: let last?) = requested[0], first <= last, last < .max,
                ranges.contains(first..<last + 1)
            else { return .missing }
            return .range(first..<last + 1)
        }
        var set = ByteRangeSet()
        for range in requested {
            switch range.resolved(in: length) {
            case .part(let part): set.insert(part)
            case .whole: return .whole
            case .notSatisfiable: continue
            }
        }
        guard let range = set.ranges.first else { return .unsatisfiable }
        return set.ranges.count == 1 && ranges.contains(range) ? .range(range) : .missing
    }

    enum Answer: Hashable, Sendable {
        case range(Range<Int64>)
        /// The content has no octets, and the request wants the last ones.
        case whole
        /// No range begins within the representation: the status is 416.
        case unsatisfiable
        case missing
    }
}
