// SPDX-License-Identifier: Apache-2.0

import CPortolan
import PortolanCore

/// The scripted behaviour of a client.
struct ClientScript: Sendable {
    /// The answer to a challenge; `count` is the number of earlier challenges of this load.
    var answer: @Sendable (_ count: Int) -> ChallengeAnswer = { _ in .without }
    /// Whether redirects are followed.
    var followsRedirects = true
    /// The pieces of the upload body.
    var body: [[UInt8]] = []
    var bodySource = BodySource.ready
    /// Where `read_body` meets that of other loads after it has copied the bytes to the plugin's buffer.
    var readMeeting: ReadMeeting?
    /// The index, from 0, of the first event that returns STOPPED; all later events return it too.
    var stopEventIndex: Int?
    /// The deliveries that are paused: an event-driven load receives PAUSE, a blocking load waits in the call.
    var pauses = Pauses.none
    /// The duration of each of the first ``longPauseCount`` pauses of a load; `nil` if these pauses do not end.
    var pauseTime: Duration? = .zero
    /// Whether an event-driven load is woken without a reason in its first pauses.
    var wakesInPause = false
    /// Whether an event-driven load is also resumed after deliveries that did not pause it.
    var resumesWithoutPause = false
    /// The stored response that `make` receives.
    var stored: StoredResponse?
    /// When the client decides challenges and redirects.
    var decision = Decision.atOnce
    /// The outcome of nested loads.
    var nestedOutcome = NestedOutcome.loaded
    var nestedPieces = NestedPieces.ofSize(64 << 10)
    /// Whether the memory that a plugin borrows from a nested load becomes inaccessible when the borrow ends: the bytes
    /// at the next call of `next`, and everything when the plugin closes the load.
    var revokesNestedMemory = false
    /// Whether each call into the load runs on a new thread. The calls stay serial.
    var changesThreads = false
    /// Whether the runner checks what each call into the load changes on its thread.
    var checksThreadState = false
    /// Whether the memory of an answer to a challenge becomes inaccessible when the plugin must not use it any more.
    var revokesAnswers = false
    /// Whether every request to watch a descriptor fails.
    var refusesWatches = false
    /// Whether the record leaves out bodies and the calls that carry them, so that a body can be larger than memory.
    var omitsBodies = false
    /// Called on the plugin's thread while an event is being delivered.
    var whileDelivering: (@Sendable (_ index: Int, _ call: ClientCall) -> Void)?

    /// Whether the client does not stop, pause or delay the load, so that the load must reach its own end.
    var isUndisturbed: Bool {
        followsRedirects && bodySource == .ready && readMeeting == nil && stopEventIndex == nil && pauses == .none && !wakesInPause
            && !resumesWithoutPause
            && decision == .atOnce && nestedOutcome == .loaded && !changesThreads && !refusesWatches && whileDelivering == nil
            && stored == nil
    }

    enum Pauses: Hashable, Sendable {
        case none, first, each
        /// The first delivery of body bytes.
        case body
    }

    /// The number of pauses of a load that last ``pauseTime``.
    static let longPauseCount = 2

    /// Whether a delivery is paused after `count` earlier pauses.
    func pauses(_ delivery: ClientCall, after count: Int) -> Bool {
        switch pauses {
        case .none: false
        case .each: true
        case .first: count == 0
        case .body: count == 0 && delivery.carriesBody
        }
    }

    enum Decision: Hashable, Sendable {
        case atOnce
        /// A blocking load waits in the call; an event-driven load receives the decision later.
        case later
        case never
    }

    enum BodySource: Hashable, Sendable {
        case ready
        /// An event-driven load receives WAIT before each piece.
        case slow
        /// No byte arrives until the load is stopped.
        case silent
        /// This number of zero bytes, generated without a buffer.
        case endless(Int64)
        /// Reading fails after this number of pieces.
        case failing(Int)
    }

    /// The pieces in which a nested load gives its body.
    enum NestedPieces: Hashable, Sendable {
        /// Pieces of this number of bytes.
        case ofSize(Int)
        /// At most about this number of equal pieces.
        case count(Int)

        func size(forLength length: Int) -> Int {
            switch self {
            case .ofSize(let size): size
            case .count(let count): max(1, (length + count - 1) / count)
            }
        }
    }

    enum NestedOutcome: Hashable, Sendable {
        case loaded
        case failing(LoadError.Code)
        /// As `loaded`, but the body ends after this number of bytes, and the load fails.
        case cut(after: Int)
        /// As `loaded`, with another body.
        case bytes([UInt8])
        /// As `loaded`, but some body bytes are changed, or the end is missing. The same seed gives the same body.
        case mutated(UInt64)
        /// As `loaded`, but the response announces this number of bytes, and the load fails if they do not arrive.
        case announcing(Int64)
        /// As `loaded`, but the body of the first nested load has this number, and ends after the first 64 KiB.
        case declaring(DeclaredLength)
        /// Nested loads produce nothing.
        case silent
    }

    enum ChallengeAnswer: Hashable, Sendable {
        case use(user: String, password: String)
        case without, byDefault, rejectProtectionSpace, cancel
    }
}
