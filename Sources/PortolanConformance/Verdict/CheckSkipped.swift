// SPDX-License-Identifier: Apache-2.0

/// Why a check cannot be made; one line.
struct CheckSkipped: Error, Hashable {
    private enum Kind { case plain, notApplicable, resourceShortage }

    let reason: String
    private let kind: Kind

    /// Whether the rule does not apply to one load. The results of other loads still count then.
    var isNotApplicable: Bool { kind == .notApplicable }
    /// Whether the system refused memory, a process, a thread or a file to the runner itself.
    var isResourceShortage: Bool { kind == .resourceShortage }

    init(_ reason: String) { self.init(reason, .plain) }
    private init(_ reason: String, _ kind: Kind) { (self.reason, self.kind) = (reason, kind) }

    /// The rule does not apply to this load.
    static func notApplicable(_ reason: String) -> Self { Self(reason, .notApplicable) }
    /// The runner lacks a system resource.
    static func resourceShortage(_ reason: String) -> Self { Self(reason, .resourceShortage) }
}
