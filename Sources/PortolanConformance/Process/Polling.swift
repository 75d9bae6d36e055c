// SPDX-License-Identifier: Apache-2.0

import PortolanCore

#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#endif

/// Polls for events without a notification, such as the end of a thread.
enum Polling {
    enum Outcome<Value> {
        case done(Value)
        case notYet(Value)
    }

    /// Polls until the outcome is `done`, or until `limit` has passed. Returns the value of the last outcome.
    static func result<Value>(within limit: Duration, _ poll: () -> Outcome<Value>) -> Value {
        let deadline = MonotonicTime.now + limit
        var pause: UInt32 = 200
        while true {
            switch poll() {
            case .done(let value): return value
            case .notYet(let value): if MonotonicTime.now >= deadline { return value }
            }
            usleep(pause)
            pause = min(pause * 2, 10_000)
        }
    }

    /// Sleeps for a fixed time, so that an event that must not happen has time to happen.
    static func sleep(_ time: Duration) {
        usleep(UInt32(clamping: time.nanoseconds / 1000))
    }
}
