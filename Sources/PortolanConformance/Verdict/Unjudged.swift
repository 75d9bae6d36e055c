// SPDX-License-Identifier: Apache-2.0

/// Why a check can't be judged; one line.
struct Unjudged: Error, Hashable {
    let reason: String
    /// Whether that is because the rule is not about this load, and no fault of anybody's: what other loads show counts all the same.
    let isOther: Bool

    init(_ reason: String) { (self.reason, isOther) = (reason, false) }
    private init(other reason: String) { (self.reason, isOther) = (reason, true) }

    /// The rule is about other loads than this one.
    static func other(_ reason: String) -> Self { Self(other: reason) }
}
