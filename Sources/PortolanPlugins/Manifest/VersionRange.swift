// SPDX-License-Identifier: Apache-2.0

/// The host versions that a plugin supports: comparisons that must all be true, for example `>=0.1.0 <1.0.0`.
public struct VersionRange: Hashable, Sendable {
    private enum Relation {
        case atLeast, atMost, above, below, exactly
    }

    private struct Comparison: Hashable {
        let relation: Relation
        let version: SemanticVersion
    }

    /// The original text.
    public let text: String
    private let comparisons: [Comparison]

    /// - Returns: `nil` if the text is not a range. A range has one to eight comparisons, separated by spaces. Each is
    ///   one of `>=`, `<=`, `>`, `<`, `=` with a version.
    public init?(_ text: String) {
        var comparisons: [Comparison] = []
        for part in text.utf8.split(separator: UInt8(ascii: " ")) {
            var version = part
            guard let relation = Self.relation(from: &version), let version = SemanticVersion(version) else { return nil }
            comparisons.append(Comparison(relation: relation, version: version))
        }
        guard (1...8).contains(comparisons.count) else { return nil }
        self.text = text
        self.comparisons = comparisons
    }

    /// Removes the relation sign at the start of `text`.
    private static func relation(from text: inout Substring.UTF8View) -> Relation? {
        guard let sign = text.popFirst() else { return nil }
        let isOrEqual = sign != UInt8(ascii: "=") && text.first == UInt8(ascii: "=")
        if isOrEqual { text.removeFirst() }
        return switch sign {
        case UInt8(ascii: ">"): isOrEqual ? .atLeast : .above
        case UInt8(ascii: "<"): isOrEqual ? .atMost : .below
        case UInt8(ascii: "="): .exactly
        default: nil
        }
    }

    public func contains(_ version: SemanticVersion) -> Bool {
        comparisons.allSatisfy { comparison in
            switch comparison.relation {
            case .atLeast: !(version < comparison.version)
            case .atMost: !(comparison.version < version)
            case .above: comparison.version < version
            case .below: version < comparison.version
            case .exactly: !(version < comparison.version) && !(comparison.version < version)
            }
        }
    }
}
