// SPDX-License-Identifier: Apache-2.0

import PortolanCore

#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#endif

/// Asking again for what nobody tells when it happens, such as that a thread is gone.
enum Polling {
    enum Answer<Value> {
        case done(Value)
        case notYet(Value)
    }

    /// The first answer that is done, or the last one before `limit` has passed.
    static func result<Value>(within limit: Duration, _ ask: () -> Answer<Value>) -> Value {
        let end = MonotonicTime.now + limit
        var pause: UInt32 = 200
        while true {
            switch ask() {
            case .done(let value): return value
            case .notYet(let value): if MonotonicTime.now >= end { return value }
            }
            usleep(pause)
            pause = min(pause * 2, 10_000)
        }
    }

    /// Lets time pass in which something that must not happen could.
    static func watch(_ time: Duration) {
        usleep(UInt32(clamping: time.nanoseconds / 1000))
    }
}
