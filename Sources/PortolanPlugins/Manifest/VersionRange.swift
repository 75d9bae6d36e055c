// SPDX-License-Identifier: Apache-2.0

/// Which versions of the host a plugin works with: comparisons that all have to hold, as in `>=0.1.0 <1.0.0`.
public struct VersionRange: Hashable, Sendable {
    private enum Relation {
        case atLeast, atMost, above, below, exactly
    }

    private struct Comparison: Hashable {
        let relation: Relation
        let version: SemanticVersion
    }

    /// As it was written.
    public let text: String
    private let comparisons: [Comparison]

    /// - Returns: `nil` for what is no range: one to eight of `>=`, `<=`, `>`, `<`, `=`, each with a version, with spaces between them.
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

    /// The sign that `text` begins with, which is taken off.
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
