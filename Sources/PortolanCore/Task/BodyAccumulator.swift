// SPDX-License-Identifier: Apache-2.0

import FoundationEssentials
import Synchronization

/// The delegate of calls that return a whole body. It keeps the response and the body, and forwards the other events to
/// the caller's delegate.
final class BodyAccumulator: ForwardingDelegate {
    typealias Outcome = Result<(Data, Response), LoadError>

    fileprivate struct State {
        var response: Response?
        var body = Data()
        var outcome: Outcome?
        var completion: (@Sendable (Outcome) -> Void)?
    }

    /// The maximum number of bytes that are reserved before the body arrives. A response can announce a longer body.
    private static let reserveLimit: Int64 = 1 << 20

    let delegate: (any LoadDelegate)?
    private let state = Mutex(State())

    /// The thread that waits for the end and then takes the result; `nil` if no thread waits.
    private let waitingThread: LoadWaiter?

    init(delegate: (any LoadDelegate)?, for thread: LoadWaiter? = nil) {
        self.delegate = delegate
        waitingThread = thread
    }

    /// Calls the completion if the task was released while it was suspended.
    deinit {
        guard let completion = state.withLock({ $0.completion.take() }) else { return }
        completion(.failure(LoadError(.cancelled, message: "the task was released while it was suspended; keep it, or cancel it")))
    }

    /// Removes and returns the result, if the load has ended.
    func takeResult() -> Outcome? {
        state.withLock { $0.outcome.take() }
    }

    /// Calls `receive` once, when the load has ended. If the load has already ended, calls `receive` immediately.
    func whenEnded(_ receive: @escaping @Sendable (Outcome) -> Void) {
        let outcome = state.withLock { state -> Outcome? in
            if state.outcome == nil { state.completion = receive }
            return state.outcome.take()
        }
        if let outcome { receive(outcome) }
    }

    func loadTask(_ task: LoadTask, didReceive response: Response) -> Flow {
        state.withLock { state in
            state.response = response
            state.body.removeAll()  // only the last part of a multipart response is returned
            state.body.reserveCapacity(Int(min(max(response.expectedLength ?? 0, 0), Self.reserveLimit)))
        }
        return .keepGoing
    }

    func loadTask(_ task: LoadTask, didLoad bytes: borrowing RawSpan) -> Flow {
        unsafe bytes.withUnsafeBytes { buffer in
            state.withLock { state in unsafe state.body.append(contentsOf: buffer) }
        }
        if let delegate { task.notifyDelegateOfReceivedBytes(delegate) }
        return .keepGoing
    }

    func loadTask(_ task: LoadTask, didEndWith error: LoadError?) {
        defer { waitingThread?.end() }
        forwardEnd(of: task, error)
        let waiting = state.withLock { state -> (completion: @Sendable (Outcome) -> Void, outcome: Outcome)? in
            state.setOutcome(error)
            guard let completion = state.completion.take(), let outcome = state.outcome.take() else { return nil }
            return (completion, outcome)
        }
        if let waiting { waiting.completion(waiting.outcome) }
    }
}

extension BodyAccumulator.State {
    fileprivate mutating func setOutcome(_ error: LoadError?) {
        if let error {
            outcome = .failure(error)
        } else if let response {
            outcome = .success((body, response))
        } else {
            outcome = .failure(LoadError(.unknown, message: "the load finished without a response"))
        }
        body = Data()
    }
}
