// SPDX-License-Identifier: Apache-2.0

import PortolanCore

extension QueueWait {
    /// Why no connection is opened for a load.
    enum Reason {
        /// There are as many as there may be.
        case connections
        /// One is being opened that may carry all loads.
        case sharedConnection
        /// One carries many loads, and the server limits how many.
        case streams
    }

    /// The wait for a connection to become free.
    init(for key: ConnectionKey, because reason: Reason, within limits: ConnectionLimits) {
        let why =
            switch reason {
            case .connections:
                "all that may be open are in use or being opened, "
                    + "\(max(1, limits.perHost)) to one origin and \(max(1, limits.total)) in all"
            case .sharedConnection: "one that may carry all loads is being opened"
            case .streams: "its server takes no more requests at once (SETTINGS_MAX_CONCURRENT_STREAMS)"
            }
        let time = limits.queueTimeout.map { " within \($0)" } ?? ""
        self.init(
            "waiting for a connection to \(key): \(why)", limit: limits.queueTimeout, remedy: reason.remedy(mayWait: false),
            error: LoadError(
                .timedOut, message: "no connection to \(key) became free\(time): \(why)", remedy: reason.remedy(mayWait: true)))
    }
}

extension QueueWait.Reason {
    /// - Parameter mayWait: whether to wait longer is a remedy, too.
    fileprivate func remedy(mayWait: Bool) -> LoadError.Remedy {
        switch self {
        case .connections: .openMoreConnections(orWait: mayWait)
        case .sharedConnection, .streams: .shareNoConnection(orWait: mayWait)
        }
    }
}
