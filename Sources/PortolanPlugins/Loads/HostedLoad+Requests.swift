// SPDX-License-Identifier: Apache-2.0

import CPortolan
import PortolanCore

/// The client functions that read the upload body or a stored response, or request a credential.
extension HostedLoad {
    private static let stopped = Int64(PORTOLAN_STOPPED.rawValue)
    private static let later = Int64(PORTOLAN_WAIT.rawValue)

    func readBody(_ buffer: UnsafeMutableRawPointer?, _ capacity: Int) -> Int64 {
        guard isInCall else { return Int64(stoppedByMisplacedCall().rawValue) }
        wipeAnswer()
        guard let buffer = unsafe buffer, capacity > 0 else {
            return Int64(failAndStop(ContractViolation(.bytesAreReadable, "read_body was called with an empty buffer or NULL")).rawValue)
        }
        let output = unsafe UnsafeMutableRawBufferPointer(start: buffer, count: capacity)
        let result = calls.wait { [self] in
            unsafe upload.read(into: output) { [weak self] in self?.wake() }
        }
        switch result {
        case .value(.bytes(let count)): return Int64(count)
        case .value(.end): return 0
        case .value(.failed(let error)):
            fail(with: error)
            return Int64(stopped().rawValue)
        case .later: return Self.later
        case .stopped: return Int64(stopped().rawValue)
        }
    }

    func rewindBody() -> Int32 {
        guard isInCall else { return stoppedByMisplacedCall().rawValue }
        wipeAnswer()
        let result = calls.wait { [self] in
            upload.rewind(requestNewBody: client.needsNewBody, whenReady: { [weak self] in self?.wake() })
        }
        switch result {
        case .value(let isAtStart): return isOver ? stopped().rawValue : isAtStart ? 1 : 0
        case .later: return PORTOLAN_WAIT.rawValue
        case .stopped: return stopped().rawValue
        }
    }

    func didSend(_ total: Int64) {
        reportEvent { () throws(ContractViolation) in
            let count = try upload.recordSent(total)
            client.didSend(bodyBytes: count, total: total, expected: upload.length)
        }
    }

    func readCached(_ offset: Int64, _ buffer: UnsafeMutableRawPointer?, _ capacity: Int) -> Int64 {
        guard isInCall else { return Int64(stoppedByMisplacedCall().rawValue) }
        wipeAnswer()
        guard !isOver else { return Int64(stopped().rawValue) }
        guard let buffer = unsafe buffer, capacity > 0 else {
            return Int64(failAndStop(ContractViolation(.bytesAreReadable, "read_cached was called with an empty buffer or NULL")).rawValue)
        }
        do throws(LoadError) {
            return Int64(try unsafe storedBody.read(from: offset, into: UnsafeMutableRawBufferPointer(start: buffer, count: capacity)))
        } catch {
            fail(with: error)
            return Int64(stopped().rawValue)
        }
    }

    /// Makes the host call `woken` of an event-driven load, or makes a waiting client call of a blocking load poll
    /// again. Can be called on any thread.
    func wake() {
        calls.notify(self)
    }
}

// MARK: Challenges

extension HostedLoad {
    typealias AnswerStorage = UnsafeMutablePointer<UnsafePointer<portolan_answer>?>

    func didReceive(_ challenge: UnsafePointer<portolan_challenge>?, _ result: AnswerStorage?) -> portolan_flow {
        guard isInCall else { return stoppedByMisplacedCall() }
        wipeAnswer()
        do throws(ContractViolation) {
            try sendChallenge(unsafe ReadChallenge(reading: challenge))
        } catch {
            return failAndStop(error)
        }
        if isOver { return stopped() }
        guard let result = unsafe result else { return deferAnswer() }
        switch calls.wait(until: self.challenge.removeAnswer) {
        case .value(let (answer, kind)):
            unsafe result.pointee = retainAnswer(CStorage(answer, to: kind))
            return PORTOLAN_CONTINUE
        case .later: return deferAnswer()
        case .stopped: return stopped()
        }
    }

    /// Sends the challenge to the client. This load does not retain it, because a challenge that is released without an
    /// answer gives the default answer.
    private func sendChallenge(_ contents: ReadChallenge) throws(ContractViolation) {
        guard let number = challenge.open(contents.space.kind) else {
            throw ContractViolation(
                .challengeIsComplete, "did_receive_challenge was called while another challenge is open; wait for its answer first")
        }
        let authenticationChallenge = AuthenticationChallenge(
            protectionSpace: contents.space, previousFailureCount: contents.failureCount, previousError: contents.previousError
        ) { [weak self] answer in
            self?.receive(answer, to: number)
        }
        challenge.setChallenge(authenticationChallenge)
        client.didReceive(authenticationChallenge)
    }

    private func receive(_ answer: ChallengeAnswer, to number: Int) {
        if challenge.store(answer, to: number) { calls.answerDidArrive(self) } else { calls.notify(self) }
    }

    private func deferAnswer() -> portolan_flow {
        guard !handler.traits.contains(.blocking) else {
            return failAndStop(
                ContractViolation(
                    .challengeIsComplete,
                    "a blocking load passed NULL instead of a pointer "
                        + "for the answer to its challenge"))
        }
        if challenge.deferAnswer() { calls.answerDidArrive(self) }
        return PORTOLAN_WAIT
    }

    /// Calls `function` with the load and the answer, unless the challenge was cancelled.
    func deliverAnswer(_ function: (UnsafeMutableRawPointer, UnsafePointer<portolan_answer>) -> Void) {
        guard let (answer, kind) = challenge.removeAnswer() else { return }
        let cAnswer = unsafe CStorage(answer, to: kind)
        unsafe inCall { unsafe function($0, cAnswer.pointer) }
    }

    func didCancelChallenge() {
        reportEvent { () throws(ContractViolation) in
            if let authenticationChallenge = challenge.cancel() { client.didCancel(authenticationChallenge) }
        }
    }
}
