// SPDX-License-Identifier: Apache-2.0

import PortolanCore

/// The threads on which one plugin is called outside its blocking loads: turns of event-driven loads, `stop`, `destroy`.
///
/// Never on a thread of the caller's, the clock's or another plugin's: one that hangs holds up itself and nobody else.
final class HelperThreads: Sendable {
    static let limit = 8
    private let pool = LoadThreads(limit: limit)
    private static let retryTime = Duration.milliseconds(50)

    /// Whether a call waits because as many threads as there may be are in others.
    var isExhausted: Bool { pool.isExhausted }

    /// Runs `job` soon. Where no thread can be had, tries again later: a call into a plugin is not lost while the clock runs.
    func run(isNested: Bool = false, _ job: @escaping @Sendable () -> Void) {
        do throws(LoadError) {
            try pool.run(isNested: isNested, job)
        } catch {
            let clock = SystemClock.shared
            clock.schedule(LoadAlarm { [self] in run(isNested: isNested, job) }, at: clock.now + Self.retryTime)
        }
    }
}
