// SPDX-License-Identifier: Apache-2.0

/// One thing that a check saw.
public struct Finding: Hashable, Sendable {
    public enum Weight: String, Hashable, Sendable {
        /// A rule that has to be kept is broken.
        case failure
        /// A rule that should be kept is not, or something is odd.
        case warning
    }

    public let weight: Weight
    /// What was seen, with values quoted; one line.
    public let detail: String
    /// Where in the plugin's code, innermost first, and what else has to do with it; none where the check can't know.
    public internal(set) var stack: [String] = []
    /// The ID of the check in which it was seen, where that is another than the rule's own.
    public internal(set) var seenIn: String?

    init(_ weight: Weight, _ detail: String) {
        self.weight = weight
        self.detail = detail
    }
}
