// SPDX-License-Identifier: Apache-2.0

import CPortolan

/// How a client answers.
struct ClientScript: Sendable {
    /// What a challenge is answered with; the count is of the challenges of this load so far.
    var answer: @Sendable (_ count: Int) -> ChallengeAnswer = { _ in .without }
    /// Whether a redirect is taken.
    var takesRedirects = true
    /// The upload body, in the pieces in which it is given.
    var body: [[UInt8]] = []
    /// Which event, counted from 0, is answered with STOPPED; all after it are, too.
    var stopsAt: Int?
    /// Whether each delivery of an event-driven load is answered with PAUSE, and resumed right after.
    var pauses = false
    /// Called while an event is being delivered, on the plugin's thread.
    var whileDelivering: (@Sendable (_ index: Int, _ call: ClientCall) -> Void)?

    enum ChallengeAnswer: Hashable, Sendable {
        case use(user: String, password: String)
        case without, byDefault, rejectSpace, cancel
    }
}
