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

    init(_ weight: Weight, _ detail: String) {
        self.weight = weight
        self.detail = detail
    }
}
