// SPDX-License-Identifier: Apache-2.0

import HTTPTypes
import Synchronization

/// A load inside another one, as a handler sees it: a load that reports to the handler's client.
///
/// Redirects and challenges are decided where the outer load's are. What only concerns the inner request (bytes sent, steps) stays inside.
final class NestedLoad: ProtocolLoad {
    /// Whose turn it is to end the task when it is stopped: the delegate hears the beginning first, or neither of the two.
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

    /// Its events are passed on by the thread that brings them, which may be about to.
    var stopsInTurn: Bool { true }

    func startLoading() {
        guard pass(from: .made, to: .starting) else { return }
        task.outermost.notifyDelegateOfNestedLoad(.innerBegan(task))
        // It may have been stopped meanwhile.
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

/// Turns a task's delegate calls back into a client's.
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

    /// A client that has had enough hears no end.
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
