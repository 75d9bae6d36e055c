// SPDX-License-Identifier: Apache-2.0

import PortolanCore
import Synchronization

/// The only challenge that a load may have open, and its answer. Any thread.
final class ChallengeSlot: Sendable {
    private enum State {
        case none
        /// `isDeferred`: the plugin was notified that the answer comes later.
        case asked(number: Int, isDeferred: Bool)
        case answered(ChallengeAnswer)
    }

    private struct Slot {
        var state = State.none
        var kind = ProtectionSpace.Kind.password(scheme: "")
        /// Weak, so that a challenge that is released without an answer answers itself.
        weak var challenge: AuthenticationChallenge?
        var count = 0
    }

    private let slot = Mutex(Slot())

    /// Opens a challenge.
    ///
    /// - Returns: its number; `nil` if one is already open.
    func open(_ kind: ProtectionSpace.Kind) -> Int? {
        slot.withLock { slot in
            guard case .none = slot.state else { return nil }
            slot.count += 1
            slot.kind = kind
            slot.state = .asked(number: slot.count, isDeferred: false)
            return slot.count
        }
    }

    func note(_ challenge: AuthenticationChallenge) {
        slot.withLock { $0.challenge = challenge }
    }

    /// Stores the answer to challenge `number`. Drops it if the challenge was withdrawn.
    ///
    /// - Returns: whether the plugin must be called with the answer.
    func put(_ answer: ChallengeAnswer, to number: Int) -> Bool {
        slot.withLock { slot in
            guard case .asked(number, let isDeferred) = slot.state else { return false }
            slot.state = .answered(answer)
            return isDeferred
        }
    }

    /// Removes and returns the answer; `nil` if there is none yet.
    func take() -> (answer: ChallengeAnswer, kind: ProtectionSpace.Kind)? {
        slot.withLock { slot in
            guard case .answered(let answer) = slot.state else { return nil }
            slot.state = .none
            return (answer, slot.kind)
        }
    }

    /// Called before the plugin is notified that the answer comes later.
    ///
    /// - Returns: whether the answer has already arrived, so that the plugin must be called at once.
    func deferAnswer() -> Bool {
        slot.withLock { slot in
            switch slot.state {
            case .none: return false
            case .answered: return true
            case .asked(let number, _):
                slot.state = .asked(number: number, isDeferred: true)
                return false
            }
        }
    }

    /// Withdraws the challenge.
    ///
    /// - Returns: the challenge, if it is not answered and still exists.
    func withdraw() -> AuthenticationChallenge? {
        slot.withLock { slot in
            defer { slot.state = .none }
            guard case .asked = slot.state else { return nil }
            return slot.challenge
        }
    }
}
