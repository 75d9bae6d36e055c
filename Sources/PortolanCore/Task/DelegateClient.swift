// SPDX-License-Identifier: Apache-2.0

import HTTPTypes
import Synchronization

/// The last client in the chain: it connects one handler load to the task and its delegate. It decides redirects and
/// challenges, updates the counts, and calls the delegate, one call at a time.
final class DelegateClient: ProtocolClient {
    /// `nil` if a suspended task was released: its load is being stopped.
    weak let task: LoadTask?
    // The task's delegate. Stored here because `task.delegate` would retain and release the task at each event.
    private let delegate: any LoadDelegate
    /// The limit of the caller's request; `nil` for none.
    private let maximumBodySize: Int64?
    /// The number of the handler load's request (``LoadTask/requestNumber``). It grows if the request is sent again.
    private let requestNumber: Atomic<Int>
    /// The number of redirects that the task followed before this handler load.
    let redirectCount: Int
    /// Whether the load only redirects to a secure URL (``UpgradeHandler``).
    let upgradesToHTTPS: Bool
    let openChallenge = Mutex<OpenChallenge?>(nil)
    /// Whether a password was sent, and no response has accepted or refused it yet.
    let hasUndecidedCredential = Atomic(false)
    /// Whether a response was delivered, after which the load is not tried again.
    private let hasDeliveredResponse = Atomic(false)
    /// The attempt that follows a response that is not delivered.
    private let nextAttempt = Mutex<LoadTask.NextAttempt?>(nil)

    init(task: LoadTask, requestNumber: Int, redirectCount: Int, upgradesToHTTPS: Bool = false) {
        self.task = task
        self.requestNumber = Atomic(requestNumber)
        self.redirectCount = redirectCount
        self.upgradesToHTTPS = upgradesToHTTPS
        delegate = task.delegate
        maximumBodySize = task.originalRequest.maximumBodySize
    }

    func cachedResponseIsValid(_ cached: CachedResponse, newer: Response?) {}

    func didReceiveInterim(_ response: Response) {
        guard let task else { return }
        task.resetIdleTimer()
        task.notifyDelegate(.interim(response))
    }

    func willResend(after response: Response) {
        guard let task else { return }
        task.recordActivity { metrics, _ in metrics.recordResend(after: response) }
        requestNumber.add(1, ordering: .relaxed)
        task.notifyDelegate(.resend(response))
    }

    func willCache(_ response: CacheableResponse, decide: @escaping @Sendable (CacheableResponse?) -> Void) {
        guard let task else { return decide(nil) }
        let question = task.addCachingDecision(decide)
        task.notifyDelegate(.willCache(response) { question.answer($0) })
    }

    func didReceive(_ response: Response, storage: CacheStoragePolicy) -> Flow {
        guard let task else { return .stopped }
        task.loader.updatePolicies(from: response, of: task)
        updateCredentials(by: response, of: task)
        if let error = task.loader.configuration.redirects.error(for: response) {
            task.end(with: error)
            return .stopped
        }
        if task.mayHaveAnotherAttempt, endIfAnotherAttemptFollows(response, of: task) { return .stopped }
        if let limit = task.originalRequest.maximumBodySize, task.originalRequest.method != .head, let length = response.expectedLength,
            length > limit
        {
            return failAboveRequestLimit(task, limit, "has \(length) bytes")
        }
        task.recordActivity { $0.timeToResponse = $0.timeToResponse ?? $1 }
        task.counts.beginBody(expected: response.expectedLength)
        switch task.acquireDelegate(for: .response, orQueue: .response(response)) {
        case .acquired:
            let flow = delegate.loadTask(task, didReceive: response)
            task.releaseDelegate()
            return handle(flow, of: task)
        case .bypassed: return handle(delegate.loadTask(task, didReceive: response), of: task)
        case .queued(let flow): return flow
        }
    }

    /// Ends the handler load without delivering its response, if another attempt follows.
    ///
    /// - Returns: whether another attempt follows.
    private func endIfAnotherAttemptFollows(_ response: Response, of task: LoadTask) -> Bool {
        guard !hasDeliveredResponse.load(ordering: .relaxed), let attempt = nextAttempt(after: response, of: task) else {
            hasDeliveredResponse.store(true, ordering: .relaxed)
            return false
        }
        nextAttempt.withLock { $0 = attempt }
        let status = response.status.map { "\($0.code) \($0.reasonPhrase)" } ?? "an error"
        task.endAttempt(with: LoadError(.badResponse, message: "the response for \(response.url.shortDescription) is \(status)"))
        return true
    }

    private func nextAttempt(after response: Response, of task: LoadTask) -> LoadTask.NextAttempt? {
        if let wait = task.retryWait(after: response) { return LoadTask.NextAttempt(wait: wait) }
        return task.replacementRequest?(response).map { LoadTask.NextAttempt(wait: .zero, request: $0) }
    }

    func didLoad(_ bytes: borrowing RawSpan) -> Flow {
        guard let task else { return .stopped }
        task.resetIdleTimer()
        let total = task.counts.recordReceived(bytes.byteCount)
        if let limit = task.bodyLimit, total > limit { return failAboveMemoryLimit(task, limit) }
        if let limit = maximumBodySize, total > limit { return failAboveRequestLimit(task, limit, "is larger") }
        switch task.acquireDelegate(for: .data, orQueue: .data([UInt8](copying: bytes))) {
        case .acquired:
            let flow = delegate.loadTask(task, didLoad: bytes)
            task.releaseDelegate()
            return handle(flow, of: task)
        case .bypassed: return handle(delegate.loadTask(task, didLoad: bytes), of: task)
        case .queued(let flow): return flow
        }
    }

    private func failAboveMemoryLimit(_ task: LoadTask, _ limit: Int64) -> Flow {
        task.end(
            with: LoadError(
                .limitExceeded,
                message: "the body is larger than \(limit) bytes, the limit for loads into memory; read it in pieces with bytes(for:), "
                    + "or raise Loader.Configuration.maximumBodySizeInMemory"))
        return .stopped
    }

    /// - Parameter finding: the end of a sentence that begins with "the body".
    private func failAboveRequestLimit(_ task: LoadTask, _ limit: Int64, _ finding: String) -> Flow {
        task.end(
            with: LoadError(
                .limitExceeded, message: "the body \(finding), and the limit is \(limit) bytes",
                remedy: .raiseMaximumBodySize))
        return .stopped
    }

    func didReceiveTrailers(_ fields: HTTPFields) {
        guard let task else { return }
        task.resetIdleTimer()
        task.notifyDelegate(.trailers(fields))
    }

    func didSend(bodyBytes: Int64, total: Int64, expected: Int64?) {
        guard let task else { return }
        task.resetIdleTimer()
        task.counts.recordSent(total: total, expected: expected)
        task.notifyDelegate(.sent)
    }

    func didReach(_ step: LoadStep) {
        guard let task else { return }
        var isRecorded = false
        task.recordActivity { isRecorded = $0.recordStep(step, at: $1) }
        switch step {
        case .connected: logStep("connected", of: task)
        case .connectionReused: logStep("uses an open connection", of: task)
        case .domainResolved, .tlsEstablished, .requestSent, .firstByte: break
        }
        // A step beyond the limit of the metrics is not delivered, so that a slow delegate does not have to buffer it.
        if isRecorded { task.notifyDelegate(.step(step)) }
    }

    func didTransfer(_ report: TransferReport) {
        guard let task else { return }
        task.updateMetrics { $0.recordTransfer(report, at: $1, afterRedirects: redirectCount) }
        logStep("transferred by \(report.networkProtocol) from \(report.remoteAddress ?? "an unknown address")", of: task)
    }

    private func logStep(_ step: @autoclosure () -> String, of task: LoadTask) {
        task.loader.logStep(step(), of: task, requestNumber: requestNumber.load(ordering: .relaxed))
    }

    func needsNewBody(_ answer: @escaping @Sendable (Body?) -> Void) {
        guard let task else { return answer(nil) }
        task.resetIdleTimer()
        task.notifyDelegate(.newBody(answer))
    }

    func didFinishLoading() { task?.finish(with: nil) }

    func didFail(with error: LoadError) {
        guard let task else { return }
        var error = error
        if let attempt = nextAttempt.withLock({ $0.take() }) ?? retry(of: task, after: error) {
            cancelOpenChallenge(of: task)
            if task.schedule(attempt, after: error) { return }
            error = task.machine.withLock { $0.finalError } ?? error
        }
        task.finish(with: task.currentRequest.isUpgradedToHTTPS ? error.namingStrictTransport(of: task.currentRequest.url) : error)
    }

    private func retry(of task: LoadTask, after error: LoadError) -> LoadTask.NextAttempt? {
        guard !hasDeliveredResponse.load(ordering: .relaxed) else { return nil }
        if let attempt = task.attempt(afterLackOfNetwork: error) { return attempt }
        return task.retryWait(after: error).map { LoadTask.NextAttempt(wait: $0) }
    }

    func makeNestedLoad(for request: Request, client: any ProtocolClient) -> any ProtocolLoad {
        task?.makeNestedLoad(for: request, client: client) ?? FailedLoad(Self.taskReleasedError(for: request), client: client)
    }

    func makeLoadByNextHandler(for request: Request, client: any ProtocolClient) -> any ProtocolLoad {
        task?.makeLoadByNextHandler(for: request, client: client) ?? FailedLoad(Self.taskReleasedError(for: request), client: client)
    }

    private static func taskReleasedError(for request: Request) -> LoadError {
        LoadError(.cancelled, message: "the task that loads \(request.url.shortDescription) has been released")
    }

    /// A delegate that returns `.stopped` cancels the load.
    private func handle(_ flow: Flow, of task: LoadTask) -> Flow {
        if flow == .stopped { task.cancel() }
        return flow
    }
}
