// SPDX-License-Identifier: Apache-2.0

import HTTPTypes
import Synchronization

/// A nested load, as a handler sees it: a load that reports to the handler's client.
///
/// Redirects and challenges are decided where those of the outer load are. Events that only concern the inner request
/// (bytes sent, steps) are not forwarded.
final class NestedLoad: ProtocolLoad {
    /// Decides which call ends the task after a stop. The delegate receives the beginning before the end, or neither of
    /// them.
    private enum Stage: UInt8, AtomicRepresentable {
        case made, starting, started, stopped
    }

    let task: LoadTask
    private let relay: NestedRelay
    private let stage = Atomic(Stage.made)

    init(_ request: Request, outer: LoadTask, client: any ProtocolClient) {
        relay = NestedRelay(outer: outer, client: client)
        task = LoadTask(request, loader: outer.loader, delegate: relay, parent: outer)
    }

    /// Always `true`, because the thread that delivers an event forwards it, and may be about to do so.
    var stopsInTurn: Bool { true }

    func startLoading() {
        guard pass(from: .made, to: .starting) else { return }
        task.outermost.notifyDelegateOfNestedLoad(.innerBegan(task))
        // The load may have been stopped meanwhile.
        if pass(from: .starting, to: .started) { task.resume() } else { task.cancel() }
    }

    func stopLoading() {
        relay.stop()
        switch stage.exchange(.stopped, ordering: .acquiringAndReleasing) {
        case .made, .started: task.cancel()
        case .starting, .stopped: break
        }
    }

    private func pass(from old: Stage, to new: Stage) -> Bool {
        stage.compareExchange(expected: old, desired: new, ordering: .acquiringAndReleasing).exchanged
    }

    func resumeLoading() { task.readMore() }
}

/// Converts a task's delegate calls into calls to a client.
private final class NestedRelay: LoadDelegate {
    private weak let outer: LoadTask?
    private let client: any ProtocolClient
    private let isStopped = Atomic(false)

    init(outer: LoadTask, client: any ProtocolClient) {
        self.outer = outer
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

    private var listens: Bool { !isStopped.load(ordering: .acquiring) }

    func loadTask(_ task: LoadTask, didReceive response: Response) -> Flow {
        listens ? handle(client.didReceive(response, storage: .notAllowed)) : .stopped
    }

    func loadTask(_ task: LoadTask, didLoad bytes: borrowing RawSpan) -> Flow {
        listens ? handle(client.didLoad(bytes)) : .stopped
    }

    func loadTask(_ task: LoadTask, didReceiveInterim response: Response) {
        if listens { client.didReceiveInterim(response) }
    }

    func loadTask(_ task: LoadTask, didReceiveTrailers fields: HTTPFields) {
        if listens { client.didReceiveTrailers(fields) }
    }

    func loadTaskDidSend(_ task: LoadTask) {}

    func loadTask(
        _ task: LoadTask, willRedirectTo request: Request, response: Response, decide: @escaping @Sendable (RedirectDecision) -> Void
    ) {
        guard listens, let outer else { return decide(.deliver) }
        outer.outermost.notifyDelegateOfNestedLoad(.redirect(request, response, decide))
    }

    func loadTask(_ task: LoadTask, didReceive challenge: AuthenticationChallenge) {
        guard listens, let outer else { return challenge.answer(.cancel) }
        outer.outermost.notifyDelegateOfNestedLoad(.challenge(challenge))
    }

    func loadTask(_ task: LoadTask, didCancel challenge: AuthenticationChallenge) {
        guard listens else { return }
        outer?.outermost.notifyDelegateOfNestedLoad(.challengeWithdrawn(challenge))
    }

    func loadTask(_ task: LoadTask, didEndWith error: LoadError?) {
        outer?.release(task)
        outer?.outermost.notifyDelegateOfNestedLoad(.innerEnded(task, error))
        guard listens else { return }
        if let error { client.didFail(with: error) } else { client.didFinishLoading() }
    }
}
