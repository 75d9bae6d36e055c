// SPDX-License-Identifier: Apache-2.0

/// Whether a load continues after a delivery. Clients and delegates return it.
public enum Flow: Int32, Hashable, Sendable {
    /// The load is over. Deliver nothing more, not even an end.
    case stopped = -1
    /// The delivery was accepted. Deliver nothing more until ``ProtocolLoad/resumeLoading()``.
    case pause = 0
    /// The delivery was accepted. Continue.
    case keepGoing = 1
}

/// A step of a load, for its metrics. The core records the time.
public enum LoadStep: Int32, Hashable, Sendable, CaseIterable {
    case domainResolved = 1
    case connected, tlsEstablished, connectionReused, requestSent, firstByte

    /// The name in the output of `portolan`. It is the same in all releases.
    package var name: String {
        switch self {
        case .domainResolved: "nameFound"
        case .connected: "connected"
        case .tlsEstablished: "secured"
        case .connectionReused: "reused"
        case .requestSent: "requestSent"
        case .firstByte: "firstByte"
        }
    }
}
