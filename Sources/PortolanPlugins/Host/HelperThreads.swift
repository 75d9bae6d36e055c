// SPDX-License-Identifier: Apache-2.0

import PortolanCore

/// The threads on which one plugin is called outside its blocking loads: turns of event-driven loads, `stop`, `destroy`.
///
/// Never on a thread of the caller's, the clock's or another plugin's: one that hangs holds up itself and nobody else.
final class HelperThreads: Sendable {
    static let limit = 8
    private let pool = LoadThreadPool(limit: limit)

    /// Whether a call waits because as many threads as there may be are in others.
    var isExhausted: Bool { pool.isExhausted }

    /// Runs `job` soon, or when there is a thread for it: a call into a plugin is not lost while the clock runs.
    func run(isNested: Bool = false, _ job: @escaping @Sendable () -> Void) { pool.runEventually(isNested: isNested, job) }
}
