// SPDX-License-Identifier: Apache-2.0

import FoundationEssentials
import Synchronization

/// Takes a whole body into memory, for the forms that give it in one piece.
final class Collector: DelegatingDelegate {
    typealias Outcome = Result<(Data, Response), LoadError>

    private struct State {
        var response: Response?
        var body = Data()
        var outcome: Outcome?
        var waiter: (@Sendable (Outcome) -> Void)?
    }

    /// What is set aside for a body before its bytes come, whatever length the response announces.
    private static let reserveLimit: Int64 = 1 << 20

    let delegate: (any LoadDelegate)?
    private let state = Mutex(State())

    init(delegate: (any LoadDelegate)?) {
        self.delegate = delegate
    }

    /// The outcome, if the load has ended.
    var outcome: Outcome? {
        state.withLock { $0.outcome }
    }

    /// Calls `body` once, when the load has ended; at once, if it has already.
    func whenEnded(_ body: @escaping @Sendable (Outcome) -> Void) {
        let outcome = state.withLock { state -> Outcome? in
            if state.outcome == nil { state.waiter = body }
            return state.outcome
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
        return .keepGoing
    }

    func loadTask(_ task: LoadTask, didEndWith error: LoadError?) {
        let (waiter, outcome) = state.withLock { state -> ((@Sendable (Outcome) -> Void)?, Outcome) in
            let outcome: Outcome
            if let error {
                outcome = .failure(error)
            } else if let response = state.response {
                outcome = .success((state.body, response))
            } else {
                outcome = .failure(LoadError(.unknown, message: "the load finished without a response"))
            }
            state.body = Data()
            state.outcome = outcome
            defer { state.waiter = nil }
            return (state.waiter, outcome)
        }
        waiter?(outcome)
    }
}
