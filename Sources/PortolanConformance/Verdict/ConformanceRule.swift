// SPDX-License-Identifier: Apache-2.0

/// One rule of the plugin contract.
public struct ConformanceRule: Hashable, Sendable, Identifiable, CustomStringConvertible {
    /// The consequence of a violation.
    public enum Force: String, Hashable, Sendable {
        /// A plugin that violates the rule fails.
        case must
        /// A plugin that violates the rule gets a warning.
        case should
    }

    /// The kind of URL that a check needs in the manifest's `conformance` section.
    public enum Scenario: String, Hashable, Sendable, CaseIterable {
        /// Any URL.
        case any
        /// A URL that succeeds without a challenge, and is no upload.
        case succeeds
        case fails, large, empty, redirects, challenges, cancelsChallenge, uploads, nested, hangs
        /// A URL whose response says that it can be stored. It needs no tag.
        case storable
        /// A setting that the manifest declares; no URL.
        case setting
    }

    /// For example `ORDER-02`; stable once published.
    public let id: String
    /// 1: the library loads and describes itself; 2: one load is correct; 3: order, cancellation, flow, threads; 4:
    /// stress, faults, leaks, fuzzing; 5: performance.
    public let level: Int
    public let force: Force
    /// Whether the host also enforces the rule at run time. A load that violates it then ends with `protocolViolation`
    /// and the ID.
    public let isEnforced: Bool
    /// The requirement.
    public let sentence: String
    /// Why it matters.
    public let reason: String
    /// How to repair a plugin that violates the rule.
    public let remedy: String
    /// The kind of URL that the check needs; `nil` if it needs none.
    public let scenario: Scenario?

    /// The part of the ID before the number, for example `ORDER`.
    public var category: String { String(id.prefix { $0 != "-" }) }
    public var description: String { id }
}
