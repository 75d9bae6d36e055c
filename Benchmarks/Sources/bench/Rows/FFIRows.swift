// SPDX-License-Identifier: Apache-2.0

import Portolan

/// Measures calls of a C library that a manifest binds (Plugins/Calls). Each call includes all parts of a step: the
/// arguments, the call, its result, and the check for a stopped load. The peer is a loop with the same calls in the
/// library.
enum FFIRows {
    private static let count = 1_000_000

    /// Three arguments of one word, which need no conversion.
    static func wordArguments(_ fixture: Fixture) throws -> Row { try row(fixture, "bound", "direct") }

    /// Variable arguments.
    static func variadic(_ fixture: Fixture) throws -> Row { try row(fixture, "variadic", "direct-variadic") }

    private static func row(_ fixture: Fixture, _ bound: String, _ direct: String) throws -> Row {
        let loader = try fixture.loader(withManifestIn: "Calls")
        let (bound, direct) = (try Request("calls://\(bound)"), try Request("calls://\(direct)"))
        return Row(
            unit: .nanoseconds,
            subject: Competitor("portolan", amount: count) { try await TallyingDelegate.load(bound, with: loader) },
            peers: [Competitor("direct", amount: count) { try await TallyingDelegate.load(direct, with: loader) }],
            budget: .atMost(40, .nanoseconds, over: "direct"))
    }
}
