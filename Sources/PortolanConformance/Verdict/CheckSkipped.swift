// SPDX-License-Identifier: Apache-2.0

/// Why a check can't be judged; one line.
struct CheckSkipped: Error, Hashable {
    private enum Kind { case plain, otherLoad, lack }

    let reason: String
    private let kind: Kind

    /// Whether that is because the rule is not about this load, and no fault of anybody's: what other loads show counts all the same.
    var isOther: Bool { kind == .otherLoad }
    /// Whether the system refused memory, a process, a thread or a file to the judge itself.
    var isLack: Bool { kind == .lack }

    init(_ reason: String) { self.init(reason, .plain) }
    private init(_ reason: String, _ kind: Kind) { (self.reason, self.kind) = (reason, kind) }

    /// The rule is about other loads than this one.
    static func other(_ reason: String) -> Self { Self(reason, .otherLoad) }
    /// The judge lacks something that the system gives.
    static func lack(_ reason: String) -> Self { Self(reason, .lack) }
}
