// SPDX-License-Identifier: Apache-2.0

import HTTPTypes
import Portolan
import Synchronization

/// One load of `stdio`. It collects the events, and passes the result to `completion` at the end.
final class StdioLoad: LoadDelegate {
    /// The largest number of multipart parts in one response line.
    static let partLimit = 65_536

    private let bodyLimit: Int
    private let credentials: [ChallengeResponder]
    private let outcome = Mutex(StdioOutcome())
    private let completion: @Sendable (LoadTask, StdioOutcome) -> Void

    init(bodyLimit: Int, credentials: [ChallengeResponder], completion: @escaping @Sendable (LoadTask, StdioOutcome) -> Void) {
        self.bodyLimit = bodyLimit
        self.credentials = credentials
        self.completion = completion
    }

    func loadTask(_ task: LoadTask, didReceive response: Response) -> Flow {
        var response = response
        // Some handlers report the URL without its fragment, for example the one that replays a recording.
        response.url = response.url.inheritingFragment(of: task.currentRequest.url)
        return outcome.withLock { outcome in
            if let earlier = outcome.response {
                guard outcome.earlierParts.count < Self.partLimit else {
                    outcome.error = LoadError(
                        .limitExceeded,
                        message: "the body has more than \(Self.partLimit) parts, the limit of one response line; use 'portolan get'")
                    return .stopped
                }
                outcome.earlierParts.append(StdioOutcome.Part(response: earlier, body: outcome.body))
                outcome.earlierByteCount += outcome.body.count
            }
            outcome.response = response
            outcome.body = []
            return .keepGoing
        }
    }

    func loadTask(_ task: LoadTask, didLoad bytes: borrowing RawSpan) -> Flow {
        if task.hasNoBody { return .keepGoing }
        return unsafe bytes.withUnsafeBytes { bytes in
            outcome.withLock { outcome in
                guard outcome.earlierByteCount + outcome.body.count + bytes.count <= bodyLimit else {
                    outcome.error = LoadError(
                        .limitExceeded,
                        message: "the body is larger than \(bodyLimit) bytes, the limit of one response line; use 'portolan get'")
                    return .stopped
                }
                unsafe outcome.body.append(contentsOf: bytes)
                return .keepGoing
            }
        }
    }

    func loadTask(_ task: LoadTask, didReceiveInterim response: Response) {
        outcome.withLock { $0.interim.append(response) }
    }

    func loadTask(_ task: LoadTask, didReceiveTrailers fields: HTTPFields) {
        outcome.withLock { $0.trailers = fields }
    }

    func loadTask(
        _ task: LoadTask, willRedirectTo request: Request, response: Response, decide: @escaping @Sendable (RedirectDecision) -> Void
    ) {
        credentials.didRedirect(to: request.url, response)
        decide(.follow(request))
    }

    func loadTask(_ task: LoadTask, didReceive challenge: AuthenticationChallenge) {
        let (decision, answer) = credentials.evaluate(challenge)
        if decision == .refused {
            outcome.withLock { $0.error = ChallengeResponder.rejectionError(for: challenge) }
        }
        challenge.answer(answer)
    }

    func loadTask(_ task: LoadTask, didEndWith error: LoadError?) {
        let result = outcome.withLock { outcome in
            outcome.error = outcome.error ?? error
            defer { outcome = StdioOutcome() }
            return outcome
        }
        completion(task, result)
    }
}
