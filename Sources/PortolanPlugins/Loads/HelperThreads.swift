// SPDX-License-Identifier: Apache-2.0

import PortolanCore

/// Threads for short calls into plugins that must not be made where they are asked for: the turn that a `wake` brings, a `stop` that the
/// load's own thread may not call, a `destroy` that may take its time.
///
/// Apart from those of blocking loads, so that they never wait behind one.
enum HelperThreads {
    private static let pool = LoadThreads(limit: 8)
    private static let retryTime = Duration.milliseconds(50)

    /// Runs `job` soon. Where no thread can be had, tries again later: a call into a plugin is never lost.
    static func run(isNested: Bool = false, _ job: @escaping @Sendable () -> Void) {
        do throws(LoadError) {
            try pool.run(isNested: isNested, job)
        } catch {
            let clock = SystemClock.shared
            clock.schedule(LoadAlarm { run(isNested: isNested, job) }, at: clock.now + retryTime)
        }
    }
}
