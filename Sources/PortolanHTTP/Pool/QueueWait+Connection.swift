// SPDX-License-Identifier: Apache-2.0

import PortolanCore

extension QueueWait {
    /// The wait for a connection to become free.
    ///
    /// - Parameter isMultiplexed: whether one connection carries many loads: then it is the server that limits how many.
    init(for key: ConnectionKey, isMultiplexed: Bool, within limits: ConnectionLimits) {
        let (why, remedy) =
            isMultiplexed
            ? ("its server takes no more requests at once (SETTINGS_MAX_CONCURRENT_STREAMS)", "ask for HTTP/1.1, or load fewer at a time")
            : (
                "all that may be open are in use, \(max(1, limits.perHost)) to one origin and \(max(1, limits.total)) in all",
                "raise ConnectionLimits.perHost or ConnectionLimits.total, or load fewer at a time"
            )
        let time = limits.queueTimeout.map { " within \($0)" } ?? ""
        self.init(
            "waiting for a connection to \(key): \(why); \(remedy)", limit: limits.queueTimeout,
            error: LoadError(
                .timedOut, message: "no connection to \(key) became free\(time): \(why); raise ConnectionLimits.queueTimeout, or \(remedy)")
        )
    }
}
