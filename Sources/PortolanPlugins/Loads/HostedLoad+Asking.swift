// SPDX-License-Identifier: Apache-2.0

import CPortolan
import PortolanCore

/// The client functions that request something: the upload body, a stored response, a credential.
extension HostedLoad {
    private static let stopped = Int64(PORTOLAN_STOPPED.rawValue)
    private static let later = Int64(PORTOLAN_WAIT.rawValue)

    func readBody(_ buffer: UnsafeMutableRawPointer?, _ capacity: Int) -> Int64 {
        guard isInCall else { return Int64(stray().rawValue) }
        wipeAnswer()
        guard let buffer = unsafe buffer, capacity > 0 else {
            return Int64(violate(ContractViolation(.bytesAreReadable, "read_body was given an empty buffer, or NULL")).rawValue)
        }
        let room = unsafe UnsafeMutableRawBufferPointer(start: buffer, count: capacity)
        let waited = calls.wait { [self] in
            unsafe upload.read(into: room) { [weak self] in self?.wake() }
        }
        switch waited {
        case .value(.bytes(let count)): return Int64(count)
        case .value(.end): return 0
        case .value(.failed(let error)):
            cut(with: error)
            return Int64(stopped().rawValue)
        case .later: return Self.later
        case .stopped: return Int64(stopped().rawValue)
        }
    }

    func rewindBody() -> Int32 {
        guard isInCall else { return stray().rawValue }
        wipeAnswer()
        let waited = calls.wait { [self] in
            upload.rewind(asking: client.needsNewBody, whenReady: { [weak self] in self?.wake() })
        }
        switch waited {
        case .value(let isAtStart): return isOver ? stopped().rawValue : isAtStart ? 1 : 0
        case .later: return PORTOLAN_WAIT.rawValue
        case .stopped: return stopped().rawValue
        }
    }

    func didSend(_ total: Int64) {
        reporting { () throws(ContractViolation) in
            let count = try upload.noteSent(total)
            client.didSend(bodyBytes: count, total: total, expected: upload.length)
        }
    }

    func readCached(_ offset: Int64, _ buffer: UnsafeMutableRawPointer?, _ capacity: Int) -> Int64 {
        guard isInCall else { return Int64(stray().rawValue) }
        guard let buffer = unsafe buffer, capacity > 0 else {
            return Int64(violate(ContractViolation(.bytesAreReadable, "read_cached was given an empty buffer, or NULL")).rawValue)
        }
        do throws(LoadError) {
            return Int64(try unsafe stored.read(from: offset, into: UnsafeMutableRawBufferPointer(start: buffer, count: capacity)))
        } catch {
            cut(with: error)
            return Int64(stopped().rawValue)
        }
    }

    /// Makes the host call an event-driven load; makes a waiting client call of a blocking load poll again. Any thread.
    func wake() {
        calls.notify(self)
    }
}

// MARK: Challenges

extension HostedLoad {
    typealias AnswerStorage = UnsafeMutablePointer<UnsafePointer<portolan_answer>?>

    func didReceive(_ challenge: UnsafePointer<portolan_challenge>?, _ place: AnswerStorage?) -> portolan_flow {
        guard isInCall else { return stray() }
        wipeAnswer()
        do throws(ContractViolation) {
            try ask(unsafe ChallengeContents(reading: challenge))
        } catch {
            return violate(error)
        }
        if isOver { return stopped() }
        guard let place = unsafe place else { return deferAnswer() }
        switch calls.wait(until: self.challenge.take) {
        case .value(let (answer, kind)):
            unsafe place.pointee = lend(CStorage(answer, to: kind))
            return PORTOLAN_CONTINUE
        case .later: return deferAnswer()
        case .stopped: return stopped()
        }
    }

    /// Delivers the challenge. This load does not retain it, so a challenge that is released without an answer answers
    /// itself.
    private func ask(_ contents: ChallengeContents) throws(ContractViolation) {
        guard let number = challenge.open(contents.space.kind) else {
            throw ContractViolation(.challengeIsComplete, "a second challenge came before the first was answered; send one at a time")
        }
        let question = AuthenticationChallenge(
            protectionSpace: contents.space, previousFailureCount: contents.failureCount, previousError: contents.previousError
        ) { [weak self] answer in
            self?.take(answer, to: number)
        }
        challenge.note(question)
        client.didReceive(question)
    }

    private func take(_ answer: ChallengeAnswer, to number: Int) {
        if challenge.put(answer, to: number) { calls.answered(self) } else { calls.notify(self) }
    }

    private func deferAnswer() -> portolan_flow {
        guard !handler.traits.contains(.blocking) else {
            return violate(
                ContractViolation(
                    .challengeIsComplete,
                    "a blocking load gave NULL instead of a place for the "
                        + "answer to its challenge"))
        }
        if challenge.deferAnswer() { calls.answered(self) }
        return PORTOLAN_WAIT
    }

    /// Calls `answered` with the answer, unless the challenge was withdrawn.
    func giveAnswer(_ body: (UnsafeMutableRawPointer, UnsafePointer<portolan_answer>) -> Void) {
        guard let (answer, kind) = challenge.take() else { return }
        let lent = unsafe CStorage(answer, to: kind)
        unsafe inCall { unsafe body($0, lent.pointer) }
    }

    func didCancelChallenge() {
        reporting { () throws(ContractViolation) in
            if let question = challenge.withdraw() { client.didCancel(question) }
        }
    }
}
