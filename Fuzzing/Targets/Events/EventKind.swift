// SPDX-License-Identifier: Apache-2.0

import Portolan
import PortolanHandlers

/// The events from a load to its client.
enum EventKind: CaseIterable {
    case interim, redirect, confirmation, response, data, trailers, finish, failure
    case challenge, challengeWithdrawn, sent, step, newBody

    /// Whether the event's return value can make the load pause or stop.
    var returnsFlow: Bool { [.redirect, .response, .data].contains(self) }

    /// Whether the event is forbidden after the return value "pause".
    var isDelivery: Bool { [.interim, .redirect, .confirmation, .response, .data, .trailers].contains(self) }
}

/// The events that a delegate receives.
enum DelegateEvent: Equatable {
    case interim, response, trailers, redirect, challenge, challengeWithdrawn, sent, step, newBody
    case data([UInt8])
    /// The end of the load; `nil` if the load finished.
    case end(Ending?)

    /// Whether the delegate returns a flow.
    var returnsFlow: Bool {
        switch self {
        case .response, .data: true
        default: false
        }
    }
}

/// The reason for the failure of a load.
struct Ending: Equatable {
    let code: LoadError.Code
    var rule: ContractRule?

    static let cancelled = Ending(code: .cancelled)

    static func violation(of rule: ContractRule) -> Ending { Ending(code: .protocolViolation, rule: rule) }
}
