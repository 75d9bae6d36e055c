// SPDX-License-Identifier: Apache-2.0

/// Which versions of the host a plugin works with: comparisons that all have to hold, as in `>=0.1.0 <1.0.0`.
public struct VersionRange: Hashable, Sendable {
    private enum Relation: String, CaseIterable {
        // The longer ones first: `>` begins `>=`.
        case atLeast = ">="
        case atMost = "<="
        case above = ">"
        case below = "<"
        case exactly = "="
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
        for part in text.split(separator: " ") {
            guard let relation = Relation.allCases.first(where: { part.hasPrefix($0.rawValue) }),
                let version = SemanticVersion(String(part.dropFirst(relation.rawValue.count)))
            else { return nil }
            comparisons.append(Comparison(relation: relation, version: version))
        }
        guard (1...8).contains(comparisons.count) else { return nil }
        self.text = text
        self.comparisons = comparisons
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
