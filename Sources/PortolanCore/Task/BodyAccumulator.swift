// SPDX-License-Identifier: Apache-2.0

import FoundationEssentials
import Synchronization

/// Collects a whole body in memory, for the calls that return it in one piece.
final class BodyAccumulator: DelegatingDelegate {
    typealias Outcome = Result<(Data, Response), LoadError>

    fileprivate struct State {
        var response: Response?
        var body = Data()
        var outcome: Outcome?
        var waiter: (@Sendable (Outcome) -> Void)?
    }

    /// The most bytes that are reserved before the body arrives, whatever length the response announces.
    private static let reserveLimit: Int64 = 1 << 20

    let delegate: (any LoadDelegate)?
    private let state = Mutex(State())

    /// Waits for the end, and then takes the result.
    private let thread: LoadWaiter?

    init(delegate: (any LoadDelegate)?, for thread: LoadWaiter? = nil) {
        self.delegate = delegate
        self.thread = thread
    }

    /// Notifies the waiter if the task was released while it was suspended.
    deinit {
        guard let waiter = state.withLock({ $0.waiter.take() }) else { return }
        waiter(.failure(LoadError(.cancelled, message: "the task was released while it was suspended; keep it, or cancel it")))
    }

    /// Removes and returns the result, if the load has ended.
    func takeResult() -> Outcome? {
        state.withLock { $0.outcome.take() }
    }

    /// Calls `body` once when the load has ended, or immediately if it already has.
    func whenEnded(_ body: @escaping @Sendable (Outcome) -> Void) {
        let outcome = state.withLock { state -> Outcome? in
            if state.outcome == nil { state.waiter = body }
            return state.outcome.take()
        }
        if let outcome { body(outcome) }
    }

    func loadTask(_ task: LoadTask, didReceive response: Response) -> Flow {
        state.withLock { state in
            state.response = response
            state.body.removeAll()  // of several parts, the last one counts
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
        defer { thread?.end() }
        delegate?.loadTask(task, didEndWith: error)
        let waiting = state.withLock { state -> (waiter: @Sendable (Outcome) -> Void, outcome: Outcome)? in
            state.end(error)
            guard let waiter = state.waiter.take(), let outcome = state.outcome.take() else { return nil }
            return (waiter, outcome)
        }
        if let waiting { waiting.waiter(waiting.outcome) }
    }
}

extension BodyAccumulator.State {
    fileprivate mutating func end(_ error: LoadError?) {
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
