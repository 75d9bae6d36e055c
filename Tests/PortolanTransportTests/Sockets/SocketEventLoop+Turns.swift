// SPDX-License-Identifier: Apache-2.0

import Glibc

@testable import PortolanTransport

extension SocketEventLoop {
    /// Has `body` run in a turn of the calling thread's.
    func inTurn<Value>(_ body: () throws -> Value) rethrows -> Value {
        enterInTime()
        defer { leave() }
        return try body()
    }

    /// Whether the loop's thread does next to nothing for a while.
    func isQuiet() async -> Bool {
        let before = await processorTime(after: .zero)
        return await processorTime(after: .milliseconds(200)) - before < .milliseconds(50)
    }

    /// Of the loop's thread.
    private func processorTime(after delay: Duration) async -> Duration {
        await withCheckedContinuation { continuation in
            _ = inTurn {
                schedule(after: delay) {
                    var time = timespec()
                    unsafe clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time)
                    continuation.resume(returning: .seconds(time.tv_sec) + .nanoseconds(time.tv_nsec))
                }
            }
        }
    }
}
