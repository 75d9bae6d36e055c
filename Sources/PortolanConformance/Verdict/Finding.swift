// SPDX-License-Identifier: Apache-2.0

/// One observation of a check.
public struct Finding: Hashable, Sendable {
    public enum Weight: String, Hashable, Sendable {
        /// A mandatory rule is violated.
        case failure
        /// A recommended rule is violated, or something is unusual.
        case warning
    }

    public let weight: Weight
    /// The observation, with values quoted; one line.
    public let detail: String
    /// The stack in the plugin's code, innermost first, with related places; empty if the check cannot know it.
    public internal(set) var stack: [String] = []
    /// The ID of the check that made the observation, if it is not the check of the rule itself.
    public internal(set) var seenIn: String?
    /// How to repair what the finding shows; `nil` if the rule's ``ConformanceRule/remedy`` fits.
    public let remedy: String?

    /// The beginning of an error that a detail quotes.
    static let errorStart = "an error ("

    /// The error of a load that the detail quotes; `nil` if it quotes none.
    var quotedError: String? {
        guard let start = detail.firstRange(of: Self.errorStart)?.upperBound else { return nil }
        let rest = detail[start...]
        guard let end = rest.firstRange(of: "')")?.lowerBound ?? rest.firstIndex(of: ")") else { return nil }
        return String(rest[..<end]) + (rest[end...].hasPrefix("'") ? "'" : "")
    }

    init(_ weight: Weight, _ detail: String, remedy: String? = nil) {
        (self.weight, self.detail, self.remedy) = (weight, detail, remedy)
    }
}
