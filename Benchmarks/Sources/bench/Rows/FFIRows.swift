// SPDX-License-Identifier: Apache-2.0

import Portolan

/// Measures calls of a C library that a manifest binds (Plugins/Calls). Each call includes all parts of a step: the
/// arguments, the call, its result, and the check whether the load is still wanted. The peer is a loop with the same
/// calls in the library.
enum FFIRows {
    private static let count = 1_000_000

    /// Three words, which go straight to the function.
    static func words(_ fixture: Fixture) throws -> Row { try row(fixture, "bound", "direct") }

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
