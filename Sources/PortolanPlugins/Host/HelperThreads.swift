// SPDX-License-Identifier: Apache-2.0

import PortolanCore

/// The threads on which the host calls the functions of one plugin's loads, except `run` of blocking loads and the
/// `destroy` after it.
///
/// The host never calls these functions on a thread of the caller, the clock or another plugin. So a load that hangs
/// blocks only loads of its plugin.
final class HelperThreads: Sendable {
    static let limit = 8
    private let pool = LoadThreadPool(limit: limit)

    /// Whether all threads are in calls, and another call waits.
    var isExhausted: Bool { pool.isExhausted }

    /// Runs `job` when a thread is available. If no thread can be created, tries again later.
    func run(isNested: Bool = false, _ job: @escaping @Sendable () -> Void) { pool.runEventually(isNested: isNested, job) }
}
