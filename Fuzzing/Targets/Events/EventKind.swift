// SPDX-License-Identifier: Apache-2.0

import Portolan

/// What a load can tell its client.
enum EventKind: CaseIterable {
    case interim, redirect, confirmation, response, data, trailers, finish, failure
    case challenge, challengeWithdrawn, sent, step, newBody

    /// Whether the load learns from the answer that it is to pause or to stop.
    var hasAnswer: Bool { [.redirect, .response, .data].contains(self) }

    /// Whether the answer "pause" forbids it.
    var isDelivery: Bool { [.interim, .redirect, .confirmation, .response, .data, .trailers].contains(self) }
}

/// What a delegate hears.
enum Heard: Equatable {
    case interim, response, trailers, redirect, challenge, challengeWithdrawn, sent, step, newBody
    case data([UInt8])
    /// Nothing for a finish.
    case end(Ending?)

    /// Whether the delegate answers with a flow.
    var hasAnswer: Bool {
        switch self {
        case .response, .data: true
        default: false
        }
    }
}

/// Why a load failed.
struct Ending: Equatable {
    let code: LoadError.Code
    var rule: ContractRule?

    static let cancelled = Ending(code: .cancelled)

    static func violation(of rule: ContractRule) -> Ending { Ending(code: .protocolViolation, rule: rule) }
}
