// SPDX-License-Identifier: Apache-2.0

import PortolanCore

/// The threads for calls into one plugin, except `run` of blocking loads.
///
/// The host never calls a plugin on a thread of the caller, the clock or another plugin. So a plugin that hangs blocks
/// only its own loads.
final class HelperThreads: Sendable {
    static let limit = 8
    private let pool = LoadThreadPool(limit: limit)

    /// Whether all threads are in calls, and another call waits.
    var isExhausted: Bool { pool.isExhausted }

    /// Runs `job` when a thread is available. If no thread can be created, tries again later.
    func run(isNested: Bool = false, _ job: @escaping @Sendable () -> Void) { pool.runEventually(isNested: isNested, job) }
}
