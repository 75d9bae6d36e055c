// SPDX-License-Identifier: Apache-2.0

import CPluginObservation
import PortolanCore

#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#endif

/// The status with which a program ends that has opened the plugin, and calls exit(3).
enum ExitStatus {
    static let expected: Int32 = 37
    private static let limit = Duration.seconds(2)

    /// How the end of a copy differs from ``expected``; `nil` if it does not.
    ///
    /// A copy lacks the other threads. So if there are new threads, a copy that does not end proves nothing: a
    /// destructor may wait for one of them.
    static func phraseForChange(since threadsBefore: Set<Int32>) -> String? {
        if let status = ofCopy() { return status == expected ? nil : "ends with \(status)" }
        guard ProcessResources.threadsOfPlugins().isSubset(of: threadsBefore), ofCopy() == nil else { return nil }
        return "does not end within \(limit.components.seconds) s"
    }

    /// Copies this process (`fork(2)`), ends the copy by `exit(3)` with the status ``expected``, and returns its
    /// status. Returns `nil` if the copy does not end in time: it lacks the other threads, which can hold a lock.
    static func ofCopy() -> Int32? {
        let copy = fork()
        if copy == 0 { exit(expected) }
        guard copy > 0 else { return nil }
        var status: Int32 = 0
        let deadline = MonotonicTime.now + limit
        while unsafe waitpid(copy, &status, WNOHANG) == 0 {
            guard MonotonicTime.now < deadline else {
                kill(copy, SIGKILL)
                unsafe waitpid(copy, &status, 0)
                return nil
            }
            Polling.sleep(.milliseconds(2))
        }
        return status & 0x7F == 0 ? (status >> 8) & 0xFF : 128 + (status & 0x7F)
    }
}
