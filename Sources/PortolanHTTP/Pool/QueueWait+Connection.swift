// SPDX-License-Identifier: Apache-2.0

import PortolanCore
import Synchronization

/// Why no connection is opened for a load in the queue. The reason can change, so it is read when a message needs it.
final class QueueReason: Sendable {
    enum Value: UInt8, AtomicRepresentable {
        /// The maximum number of connections is in use.
        case connections
        /// A connection that can carry all loads (HTTP/2) is being opened.
        case sharedConnection
        /// The server limits the number of streams on the connection.
        case streams
    }

    private let value = Atomic(Value.connections)

    var current: Value {
        get { value.load(ordering: .relaxed) }
        set { value.store(newValue, ordering: .relaxed) }
    }
}

extension QueueWait {
    /// The wait for a connection to become free.
    init(for key: ConnectionKey, because reason: QueueReason, within limits: ConnectionLimits) {
        self.init(limit: limits.queueTimeout) { Explanation(of: key, because: reason.current, within: limits) }
    }
}

extension QueueWait.Explanation {
    fileprivate init(of key: ConnectionKey, because reason: QueueReason.Value, within limits: ConnectionLimits) {
        let cause =
            switch reason {
            case .connections:
                "all allowed connections are in use or being opened "
                    + "(\(max(1, limits.perHost)) per origin, \(max(1, limits.total)) in total)"
            case .sharedConnection: "a connection that may carry all loads is being opened"
            case .streams: "the server allows no more requests at once (SETTINGS_MAX_CONCURRENT_STREAMS)"
            }
        let time = limits.queueTimeout.map { " within \($0)" } ?? ""
        self.init(
            "waiting for a connection to \(key): \(cause)", remedy: reason.remedy(mayWait: false),
            error: LoadError(
                .timedOut, message: "no connection to \(key) became free\(time): \(cause)", remedy: reason.remedy(mayWait: true)))
    }
}

extension QueueReason.Value {
    /// - Parameter mayWait: whether a longer wait also helps.
    fileprivate func remedy(mayWait: Bool) -> LoadError.Remedy {
        switch self {
        case .connections: .openMoreConnections(orWait: mayWait)
        case .sharedConnection, .streams: .shareNoConnection(orWait: mayWait)
        }
    }
}
