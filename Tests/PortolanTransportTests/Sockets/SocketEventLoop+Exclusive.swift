// SPDX-License-Identifier: Apache-2.0

import Glibc

@testable import PortolanTransport

extension SocketEventLoop {
    /// Runs `body` on the calling thread while no other thread uses the loop.
    func runExclusively<Value>(_ body: () throws -> Value) rethrows -> Value {
        enterWhenFree()
        defer { leave() }
        return try body()
    }

    /// Whether the loop's thread uses almost no processor time during 200 milliseconds.
    func isQuiet() async -> Bool {
        let before = await processorTime(after: .zero)
        return await processorTime(after: .milliseconds(200)) - before < .milliseconds(50)
    }

    /// The processor time of the loop's thread.
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
