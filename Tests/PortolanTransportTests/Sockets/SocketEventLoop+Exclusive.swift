// SPDX-License-Identifier: Apache-2.0

import Glibc

@testable import PortolanTransport

extension SocketEventLoop {
    /// Runs `operation` on the calling thread while no other thread uses the loop.
    func runExclusively<Value>(_ operation: () throws -> Value) rethrows -> Value {
        enterWhenFree()
        defer { leave() }
        return try operation()
    }

    /// Whether the loop's thread uses less than 50 milliseconds of processor time in the next 200 milliseconds.
    func isQuiet() async -> Bool {
        let timeBefore = await processorTime(after: .zero)
        return await processorTime(after: .milliseconds(200)) - timeBefore < .milliseconds(50)
    }

    /// The processor time that the loop's thread has used, measured after `delay`.
    private func processorTime(after delay: Duration) async -> Duration {
        await withCheckedContinuation { continuation in
            _ = runExclusively {
                schedule(after: delay) {
                    var time = timespec()
                    unsafe clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time)
                    continuation.resume(returning: .seconds(time.tv_sec) + .nanoseconds(time.tv_nsec))
                }
            }
        }
    }
}
