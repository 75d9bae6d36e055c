// SPDX-License-Identifier: Apache-2.0

import PortolanCore
import Synchronization

/// The open challenge of a load, and its answer. A load can have one open challenge. Can be used on any thread.
final class ChallengeSlot: Sendable {
    private enum State {
        case none
        /// `isDeferred`: whether the plugin knows that the answer comes later.
        case waiting(number: Int, isDeferred: Bool)
        case answered(ChallengeAnswer)
    }

    private struct Slot {
        var state = State.none
        var kind = ProtectionSpace.Kind.password(scheme: "")
        /// The reference is weak, because a challenge that is released without an answer gives the default answer.
        weak var challenge: AuthenticationChallenge?
        var challengeCount = 0
    }

    private let slot = Mutex(Slot())

    /// Opens a challenge.
    ///
    /// - Returns: the number of the challenge. `nil` if another challenge is open.
    func open(_ kind: ProtectionSpace.Kind) -> Int? {
        slot.withLock { slot in
            guard case .none = slot.state else { return nil }
            slot.challengeCount += 1
            slot.kind = kind
            slot.state = .waiting(number: slot.challengeCount, isDeferred: false)
            return slot.challengeCount
        }
    }

    func setChallenge(_ challenge: AuthenticationChallenge) {
        slot.withLock { $0.challenge = challenge }
    }

    /// Stores the answer to challenge `number`. Drops it if the challenge was cancelled.
    ///
    /// - Returns: whether the plugin must be called with the answer.
    func store(_ answer: ChallengeAnswer, to number: Int) -> Bool {
        slot.withLock { slot in
            guard case .waiting(number, let isDeferred) = slot.state else { return false }
            slot.state = .answered(answer)
            return isDeferred
        }
    }

    /// Removes and returns the answer. `nil` if it has not arrived.
    func removeAnswer() -> (answer: ChallengeAnswer, kind: ProtectionSpace.Kind)? {
        slot.withLock { slot in
            guard case .answered(let answer) = slot.state else { return nil }
            slot.state = .none
            return (answer, slot.kind)
        }
    }

    /// Called before the plugin learns that the answer comes later.
    ///
    /// - Returns: whether the answer has already arrived, so that the plugin must be called immediately.
    func deferAnswer() -> Bool {
        slot.withLock { slot in
            switch slot.state {
            case .none: return false
            case .answered: return true
            case .waiting(let number, _):
                slot.state = .waiting(number: number, isDeferred: true)
                return false
            }
        }
    }

    /// Cancels the challenge.
    ///
    /// - Returns: the challenge, if it is not answered and still exists.
    func cancel() -> AuthenticationChallenge? {
        slot.withLock { slot in
            defer { slot.state = .none }
            guard case .waiting = slot.state else { return nil }
            return slot.challenge
        }
    }
}
