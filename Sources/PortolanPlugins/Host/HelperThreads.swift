// SPDX-License-Identifier: Apache-2.0

import PortolanCore

/// The threads that call one plugin outside its blocking loads: all calls of event-driven loads, and `stop` and
/// `destroy`.
///
/// A plugin is never called on a thread of the caller, the clock or another plugin, so a plugin that hangs blocks only
/// itself.
final class HelperThreads: Sendable {
    static let limit = 8
    private let pool = LoadThreadPool(limit: limit)

    /// Whether a call waits for a thread because the maximum number of threads is in other calls.
    var isExhausted: Bool { pool.isExhausted }

    /// Runs `job` soon, or when a thread is available. A call into a plugin is not lost while the clock runs.
    func run(isNested: Bool = false, _ job: @escaping @Sendable () -> Void) { pool.runEventually(isNested: isNested, job) }
}
