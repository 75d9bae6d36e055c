// SPDX-License-Identifier: Apache-2.0

/// One rule of the plugin contract.
public struct ConformanceRule: Hashable, Sendable, Identifiable, CustomStringConvertible {
    /// What breaking it means.
    public enum Force: String, Hashable, Sendable {
        /// A plugin that breaks it fails.
        case must
        /// A plugin that breaks it is warned.
        case should
    }

    /// What a check needs of the manifest's `conformance` section: a URL that is an example of it.
    public enum Scenario: String, Hashable, Sendable, CaseIterable {
        /// Any URL.
        case any
        /// One that succeeds, without a question, and is no upload.
        case succeeds
        case fails, large, empty, redirects, challenges, uploads, nested, hangs
        /// A setting that the manifest declares; no URL.
        case setting
    }

    /// What the loader does not have yet, and the rule is about.
    public enum Ability: String, Hashable, Sendable {
        case cache, isolation
    }

    /// As in `ORDER-02`; stable once published.
    public let id: String
    /// 1: it loads and describes itself; 2: one load is right; 3: order, cancellation, flow, threads; 4: stress, faults, leaks, fuzzing;
    /// 5: performance.
    public let level: Int
    public let force: Force
    /// Whether the host enforces it while it runs, too: then a load that breaks it ends with `protocolViolation` and the ID.
    public let isEnforced: Bool
    /// What has to hold.
    public let sentence: String
    /// Why it matters.
    public let reason: String
    /// How to mend a plugin that breaks it.
    public let remedy: String
    /// `nil`: it is judged without an example.
    public let scenario: Scenario?
    /// `nil`: it can be judged today.
    public let awaits: Ability?

    /// What stands before the number, as in `ORDER`.
    public var category: String { String(id.prefix { $0 != "-" }) }
    public var description: String { id }

    static func must(
        _ id: String, level: Int, isEnforced: Bool = false, needs scenario: Scenario? = nil, awaits: Ability? = nil, _ sentence: String,
        because reason: String, remedy: String
    ) -> Self {
        Self(
            id: id, level: level, force: .must, isEnforced: isEnforced, sentence: sentence, reason: reason, remedy: remedy,
            scenario: scenario, awaits: awaits)
    }

    static func should(
        _ id: String, level: Int, isEnforced: Bool = false, needs scenario: Scenario? = nil, awaits: Ability? = nil, _ sentence: String,
        because reason: String, remedy: String
    ) -> Self {
        Self(
            id: id, level: level, force: .should, isEnforced: isEnforced, sentence: sentence, reason: reason, remedy: remedy,
            scenario: scenario, awaits: awaits)
    }
}
