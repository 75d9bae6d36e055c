// SPDX-License-Identifier: Apache-2.0

import CPortolan
import PortolanCore

/// How a client answers.
struct ClientScript: Sendable {
    /// What a challenge is answered with; the count is of the challenges of this load so far.
    var answer: @Sendable (_ count: Int) -> ChallengeAnswer = { _ in .without }
    /// Whether a redirect is taken.
    var takesRedirects = true
    /// The upload body, in the pieces in which it is given.
    var body: [[UInt8]] = []
    var bodySource = BodySource.ready
    /// How long each read of the body takes, when its bytes are in the plugin's buffer already.
    var readTime = Duration.zero
    /// Which event, counted from 0, is answered with STOPPED; all after it are, too.
    var stopsAt: Int?
    /// Which deliveries are paused: an event-driven load is answered PAUSE, a blocking one waits in the call.
    var pauses = Pauses.none
    /// How long the first pauses of a load are; `nil`: for good.
    var pauseTime: Duration? = .zero
    /// Whether an event-driven load is woken for nothing in its first pauses.
    var wakesInPause = false
    /// Whether an event-driven load is resumed after deliveries that did not pause it.
    var resumesUnasked = false
    /// When challenges and redirects are decided.
    var decision = Decision.atOnce
    /// What becomes of inner loads.
    var inner = Inner.loaded
    /// What an inner load gives at once.
    var innerPieceSize = 64 << 10
    /// Whether each call into the load comes on a thread of its own, one after another.
    var changesThreads = false
    /// Whether it is looked at what each call into the load changes on its thread.
    var watchesThread = false
    /// Whether an answer to a question is taken away when it is no longer lent.
    var takesAnswersAway = false
    /// Whether no descriptor can be watched.
    var refusesWatches = false
    /// Whether nothing is kept of bodies and what tells of them: for ones that are larger than memory.
    var isTerse = false
    /// Called while an event is being delivered, on the plugin's thread.
    var whileDelivering: (@Sendable (_ index: Int, _ call: ClientCall) -> Void)?

    enum Pauses: Hashable, Sendable {
        case none, first, each
        /// The first bytes.
        case body
    }

    /// How many pauses of a load last.
    static let longPauses = 2

    /// Whether a delivery is paused before which `count` others were.
    func pauses(_ delivery: ClientCall, after count: Int) -> Bool {
        switch pauses {
        case .none: false
        case .each: true
        case .first: count == 0
        case .body: count == 0 && delivery.isOfBody
        }
    }

    enum Decision: Hashable, Sendable {
        case atOnce
        /// A blocking load waits for it in the call, an event-driven one is told.
        case later
        case never
    }

    enum BodySource: Hashable, Sendable {
        case ready
        /// An event-driven load is told to wait before each piece.
        case slow
        /// There is no byte until the load is stopped.
        case silent
        /// So many bytes, all 0, of which none is kept.
        case endless(Int64)
        /// It fails after so many pieces.
        case failing(Int)
    }

    enum Inner: Hashable, Sendable {
        case loaded
        case failing(LoadError.Code)
        /// As loaded, but the body ends after so many bytes, and the load fails.
        case cut(after: Int)
        /// As loaded, but the body is another.
        case bytes([UInt8])
        /// As loaded, but some bytes of the body are others, or its end is missing; the same for the same seed.
        case mutated(UInt64)
        /// As loaded, but the response announces so many bytes, and the load fails when they do not come.
        case announcing(Int64)
        /// Nothing comes of them.
        case silent
    }

    enum ChallengeAnswer: Hashable, Sendable {
        case use(user: String, password: String)
        case without, byDefault, rejectSpace, cancel
    }
}
