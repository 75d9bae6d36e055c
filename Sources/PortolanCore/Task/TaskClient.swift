// SPDX-License-Identifier: Apache-2.0

import HTTPTypes

/// The last client of the chain: counts, and tells the task's delegate.
final class TaskClient: ProtocolClient {
    private let task: LoadTask

    init(task: LoadTask) {
        self.task = task
    }

    func wasRedirected(to request: Request, redirectResponse: Response) -> Flow { .keepGoing }

    func cachedResponseIsValid(_ cached: CachedResponse, newer: Response?) {}

    func didReceiveInterim(_ response: Response) {
        task.noteActivity()
        task.delegate.loadTask(task, didReceiveInterim: response)
    }

    func didReceive(_ response: Response, storage: CacheStoragePolicy) -> Flow {
        task.noteActivity()
        task.note { $0.response = $0.response ?? $1 }
        task.counts.beginBody(expected: response.expectedLength)
        return answer(task.delegate.loadTask(task, didReceive: response))
    }

    func didLoad(_ bytes: borrowing RawSpan) -> Flow {
        task.noteActivity()
        let total = task.counts.receive(bytes.byteCount)
        if let limit = task.bodyLimit, total > limit {
            task.end(
                with: LoadError(
                    .limitExceeded,
                    message: "the body is larger than \(limit) bytes, the limit for loads into memory; read it in pieces with bytes(for:), "
                        + "or raise Loader.Configuration.collectedBodyLimit"))
            return .stopped
        }
        return answer(task.delegate.loadTask(task, didLoad: bytes))
    }

    func didReceiveTrailers(_ fields: HTTPFields) {
        task.noteActivity()
        task.delegate.loadTask(task, didReceiveTrailers: fields)
    }

    func didSend(bodyBytes: Int64, total: Int64, expected: Int64?) {
        task.noteActivity()
        task.counts.send(total: total, expected: expected)
        task.delegate.loadTaskDidSend(task)
    }

    func didReach(_ step: LoadStep) {
        task.noteActivity()
        task.note { metrics, time in
            guard metrics.steps.count < LoadMetrics.stepLimit else { return }
            metrics.steps.append(LoadMetrics.Step(step: step, time: time))
        }
        task.delegate.loadTask(task, didReach: step)
    }

    func needsNewBody(_ answer: @escaping @Sendable (Body?) -> Void) {
        task.noteActivity()
        task.delegate.loadTask(task, needsNewBody: answer)
    }

    func didReceive(_ challenge: AuthenticationChallenge) {
        task.noteActivity()
        task.delegate.loadTask(task, didReceive: challenge)
    }

    func didCancel(_ challenge: AuthenticationChallenge) {
        task.noteActivity()
        task.delegate.loadTask(task, didCancel: challenge)
    }

    func didFinishLoading() { task.ended(with: nil) }

    func didFail(with error: LoadError) { task.ended(with: error) }

    func makeNestedLoad(for request: Request, client: any ProtocolClient) -> any ProtocolLoad {
        task.makeNestedLoad(for: request, client: client)
    }

    /// A delegate that has had enough ends the load like any other canceller.
    private func answer(_ flow: Flow) -> Flow {
        if flow == .stopped { task.cancel() }
        return flow
    }
}
