// SPDX-License-Identifier: Apache-2.0

import HTTPTypes
import Synchronization

/// The load that a handler receives for a nested load. It starts and stops the nested task, whose events reach the
/// handler's client.
///
/// The delegate of the outermost task decides about redirects and challenges. Steps and sent bytes of the nested load
/// are not forwarded.
final class NestedLoad: ProtocolLoad {
    /// Ensures that exactly one call cancels the task after a stop. The delegate receives the beginning before the end,
    /// or neither of them.
    private enum Stage: UInt8, AtomicRepresentable {
        case made, starting, started, stopped
    }

    let task: LoadTask
    private let delegate: NestedLoadDelegate
    private let stage = Atomic(Stage.made)

    init(_ request: Request, parent: LoadTask, client: any ProtocolClient) {
        delegate = NestedLoadDelegate(parent: parent, client: client)
        task = LoadTask(request, loader: parent.loader, delegate: delegate, parent: parent)
    }

    /// Always `true`, because a thread can be about to forward an event.
    var stopsAsynchronously: Bool { true }

    func startLoading() {
        guard advance(from: .made, to: .starting) else { return }
        task.outermostTask.notifyDelegateOfNestedLoad(.nestedLoadBegan(task))
        // The delegate can have stopped the load in that call.
        if advance(from: .starting, to: .started) { task.resume() } else { task.cancel() }
    }

    func stopLoading() {
        delegate.stop()
        switch stage.exchange(.stopped, ordering: .acquiringAndReleasing) {
        case .made, .started: task.cancel()
        case .starting, .stopped: break
        }
    }

    private func advance(from old: Stage, to new: Stage) -> Bool {
        stage.compareExchange(expected: old, desired: new, ordering: .acquiringAndReleasing).exchanged
    }

    func resumeLoading() { task.readMore() }
}

/// The delegate of a nested task. It forwards the events to the client of the handler that made the nested load.
private final class NestedLoadDelegate: LoadDelegate {
    private weak let parent: LoadTask?
    private let client: any ProtocolClient
    private let isStopped = Atomic(false)

    init(parent: LoadTask, client: any ProtocolClient) {
        self.parent = parent
        self.client = client
    }

    func stop() {
        isStopped.store(true, ordering: .releasing)
    }

    /// A client that returned `.stopped` receives no end.
    private func handle(_ flow: Flow) -> Flow {
        if flow == .stopped { stop() }
        return flow
    }

    private var isActive: Bool { !isStopped.load(ordering: .acquiring) }

    func loadTask(_ task: LoadTask, didReceive response: Response) -> Flow {
        isActive ? handle(client.didReceive(response, storage: .notAllowed)) : .stopped
    }

    func loadTask(_ task: LoadTask, didLoad bytes: borrowing RawSpan) -> Flow {
        isActive ? handle(client.didLoad(bytes)) : .stopped
    }

    func loadTask(_ task: LoadTask, didReceiveInterim response: Response) {
        if isActive { client.didReceiveInterim(response) }
    }

    func loadTask(_ task: LoadTask, didReceiveTrailers fields: HTTPFields) {
        if isActive { client.didReceiveTrailers(fields) }
    }

    func loadTaskDidSend(_ task: LoadTask) {}

    func loadTask(
        _ task: LoadTask, willCache response: CacheableResponse, decide: @escaping @Sendable (CacheableResponse?) -> Void
    ) {
        guard isActive, let parent else { return decide(nil) }
        parent.outermostTask.notifyDelegateOfNestedLoad(.willCache(response, decide))
    }

    func loadTask(
        _ task: LoadTask, willRedirectTo request: Request, response: Response, decide: @escaping @Sendable (RedirectDecision) -> Void
    ) {
        guard isActive, let parent else { return decide(.deliver) }
        parent.outermostTask.notifyDelegateOfNestedLoad(.redirect(request, response, decide))
    }

    func loadTask(_ task: LoadTask, didReceive challenge: AuthenticationChallenge) {
        guard isActive, let parent else { return challenge.answer(.cancel) }
        parent.outermostTask.notifyDelegateOfNestedLoad(.challenge(challenge))
    }

    func loadTask(_ task: LoadTask, didCancel challenge: AuthenticationChallenge) {
        guard isActive else { return }
        parent?.outermostTask.notifyDelegateOfNestedLoad(.challengeCancelled(challenge))
    }

    func loadTask(_ task: LoadTask, didEndWith error: LoadError?) {
        parent?.removeNestedLoad(task)
        parent?.outermostTask.notifyDelegateOfNestedLoad(.nestedLoadEnded(task, error))
        guard isActive else { return }
        if let error { client.didFail(with: error) } else { client.didFinishLoading() }
    }
}
