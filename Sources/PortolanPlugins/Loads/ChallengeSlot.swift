// SPDX-License-Identifier: Apache-2.0

import PortolanCore
import Synchronization

/// The one question that a load may have open, and where its answer goes. Any thread.
final class ChallengeSlot: Sendable {
    private enum State {
        case none
        /// `isDeferred`: the plugin was told that the answer comes later.
        case asked(number: Int, isDeferred: Bool)
        case answered(ChallengeAnswer)
    }

    private struct Slot {
        var state = State.none
        var kind = ProtectionSpace.Kind.password(scheme: "")
        /// Weak, so that a challenge that everybody drops answers itself.
        weak var challenge: AuthenticationChallenge?
        var count = 0
    }

    private let slot = Mutex(Slot())

    /// Opens a question.
    ///
    /// - Returns: its number; `nil` where one is open already.
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

    /// Takes the answer to question `number`; one to a question that was withdrawn is dropped.
    ///
    /// - Returns: whether the plugin is to be called with it.
    func put(_ answer: ChallengeAnswer, to number: Int) -> Bool {
        slot.withLock { slot in
            guard case .asked(number, let isDeferred) = slot.state else { return false }
            slot.state = .answered(answer)
            return isDeferred
        }
    }

    /// Takes the answer out; `nil` where there is none yet.
    func take() -> (answer: ChallengeAnswer, kind: ProtectionSpace.Kind)? {
        slot.withLock { slot in
            guard case .answered(let answer) = slot.state else { return nil }
            slot.state = .none
            return (answer, slot.kind)
        }
    }

    /// The plugin is told to wait.
    ///
    /// - Returns: whether the answer is there already, so that the plugin is to be called at once.
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

    /// Withdraws the question.
    ///
    /// - Returns: the challenge, if somebody still has it to answer.
    func withdraw() -> AuthenticationChallenge? {
        slot.withLock { slot in
            defer { slot.state = .none }
            guard case .asked = slot.state else { return nil }
            return slot.challenge
        }
    }
}
