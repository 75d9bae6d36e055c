// SPDX-License-Identifier: Apache-2.0

import HTTPTypes
import Synchronization

/// The task's client for one handler load. It decides redirects and challenges, updates the counts, and notifies the
/// task's delegate, one call at a time.
final class DelegateClient: ProtocolClient {
    /// `nil` if a suspended task was released: its load is being stopped.
    weak let task: LoadTask?
    // The task's delegate. Access through `task` would count a reference at each event.
    private let delegate: any LoadDelegate
    /// How many redirects the task followed before this handler load.
    let redirectCount: Int
    /// Whether the load only redirects to a secure URL.
    let isUpgrade: Bool
    let openChallenge = Mutex<OpenChallenge?>(nil)

    init(task: LoadTask, redirectCount: Int, isUpgrade: Bool = false) {
        self.task = task
        self.redirectCount = redirectCount
        self.isUpgrade = isUpgrade
        delegate = task.delegate
    }

    func cachedResponseIsValid(_ cached: CachedResponse, newer: Response?) {}

    func didReceiveInterim(_ response: Response) {
        guard let task else { return }
        task.resetIdleTimer()
        task.notifyDelegate(.interim(response))
    }

    func willResend(after response: Response) {
        guard let task else { return }
        task.resetIdleTimer { metrics, _ in metrics.note(refusal: response) }
        task.notifyDelegate(.resend(response))
    }

    func didReceive(_ response: Response, storage: CacheStoragePolicy) -> Flow {
        guard let task else { return .stopped }
        task.loader.note(response)
        if let error = task.loader.configuration.redirects.error(for: response) {
            task.end(with: error)
            return .stopped
        }
        task.resetIdleTimer { $0.timeToResponse = $0.timeToResponse ?? $1 }
        task.counts.beginBody(expected: response.expectedLength)
        switch task.acquireDelegate(for: .response, or: .response(response)) {
        case .acquired:
            let flow = delegate.loadTask(task, didReceive: response)
            task.releaseDelegate()
            return handle(flow, of: task)
        case .bypassed: return handle(delegate.loadTask(task, didReceive: response), of: task)
        case .queued(let flow): return flow
        }
    }

    func didLoad(_ bytes: borrowing RawSpan) -> Flow {
        guard let task else { return .stopped }
        task.resetIdleTimer()
        let total = task.counts.receive(bytes.byteCount)
        if let limit = task.bodyLimit, total > limit { return refuse(task, over: limit) }
        switch task.acquireDelegate(for: .data, or: .data([UInt8](copying: bytes))) {
        case .acquired:
            let flow = delegate.loadTask(task, didLoad: bytes)
            task.releaseDelegate()
            return handle(flow, of: task)
        case .bypassed: return handle(delegate.loadTask(task, didLoad: bytes), of: task)
        case .queued(let flow): return flow
        }
    }

    private func refuse(_ task: LoadTask, over limit: Int64) -> Flow {
        task.end(
            with: LoadError(
                .limitExceeded,
                message: "the body is larger than \(limit) bytes, the limit for loads into memory; read it in pieces with bytes(for:), "
                    + "or raise Loader.Configuration.maximumBodySizeInMemory"))
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
        task.counts.send(total: total, expected: expected)
        task.notifyDelegate(.sent)
    }

    func didReach(_ step: LoadStep) {
        guard let task else { return }
        var isNoted = false
        task.resetIdleTimer { isNoted = $0.note(step, at: $1) }
        switch step {
        case .connected: task.loader.logStep("connected", of: task)
        case .connectionReused: task.loader.logStep("uses an open connection", of: task)
        case .domainResolved, .tlsEstablished, .requestSent, .firstByte: break
        }
        // If the metrics have no room for a step, a slow delegate does not have to buffer it either.
        if isNoted { task.notifyDelegate(.step(step)) }
    }

    func didTransfer(_ report: TransferReport) {
        guard let task else { return }
        task.note { $0.note(report, at: $1, afterRedirects: redirectCount) }
        task.loader.logStep("transferred by \(report.networkProtocol) from \(report.remoteAddress ?? "an unknown address")", of: task)
    }

    func needsNewBody(_ answer: @escaping @Sendable (Body?) -> Void) {
        guard let task else { return answer(nil) }
        task.resetIdleTimer()
        task.notifyDelegate(.newBody(answer))
    }

    func didFinishLoading() { task?.ended(with: nil) }

    func didFail(with error: LoadError) { task?.ended(with: error) }

    func makeNestedLoad(for request: Request, client: any ProtocolClient) -> any ProtocolLoad {
        task?.makeNestedLoad(for: request, client: client) ?? FailedLoad(Self.released(request), client: client)
    }

    func makeLoadByNextHandler(for request: Request, client: any ProtocolClient) -> any ProtocolLoad {
        task?.makeLoadByNextHandler(for: request, client: client) ?? FailedLoad(Self.released(request), client: client)
    }

    private static func released(_ request: Request) -> LoadError {
        LoadError(.cancelled, message: "the task that loads \(request.url.shortDescription) has been released")
    }

    /// A delegate that returns `.stopped` cancels the load, as any other caller does.
    private func handle(_ flow: Flow, of task: LoadTask) -> Flow {
        if flow == .stopped { task.cancel() }
        return flow
    }
}
