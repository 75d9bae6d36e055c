// SPDX-License-Identifier: Apache-2.0

import PortolanCore

/// Ends the program after a time limit, unless it is cancelled. It limits calls that nothing else can end.
final class ExitTimer: Sendable {
    private let isCancelled = ConditionLock(false)

    /// - Parameters:
    ///   - limit: `nil` for no limit.
    ///   - message: says what takes too long.
    init(after limit: Duration?, _ message: String, status: ExitStatus = .timedOut) {
        guard let limit else { return }
        // `try?` because without a thread, only the time limit has no effect.
        try? PlatformThread.start { [self] in
            guard isCancelled.wait(atMost: limit, for: { $0 ? true : nil }) == nil else { return }
            Diagnostics.report("timed out after \(limit): \(message)")
            status.exitNow()
        }
    }

    func cancel() { isCancelled.withLockBroadcasting { $0 = true } }
}
