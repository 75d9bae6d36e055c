// SPDX-License-Identifier: Apache-2.0

import Synchronization

/// The load of an ``Interceptor``: changes the request, and then loads it with the next handler.
final class InterceptedLoad: ProtocolLoad {
    private enum State {
        case created
        /// The interceptor is changing the request. The task is `nil` until it is made.
        case changing(Task<Void, Never>?)
        case loading(any ProtocolLoad)
        case over
    }

    private let request: Request
    private let identifier: String
    private let hooks: Interceptor.Hooks
    private let client: any ProtocolClient
    private let state = Mutex(State.created)
    private struct RedirectState {
        /// The request of a redirect whose decision was deferred.
        var proposedRequest: Request?
        /// The number of resumes. A resume declines the redirect.
        var resumeCount = 0
    }

    private let redirectState = Mutex(RedirectState())

    init(_ request: Request, _ interceptor: Interceptor, _ client: any ProtocolClient) {
        (self.request, self.client) = (request, client)
        (identifier, hooks) = (interceptor.identifier, interceptor.makeHooks(request))
    }

    /// Always `true`, because the task and the next handler's load run on other threads.
    var stopsAsynchronously: Bool { true }

    func startLoading() {
        let mustStart = state.withLock { state in
            guard case .created = state else { return false }
            state = .changing(nil)
            return true
        }
        guard mustStart else { return }
        let task = Task { await changeAndLoad() }
        let isStopped = state.withLock { state in
            switch state {
            case .changing: state = .changing(task)
            case .over: return true
            case .created, .loading: break  // the task has already continued
            }
            return false
        }
        if isStopped { task.cancel() }
    }

    func stopLoading() {
        switch markOver() {
        case .created, .over: return
        case .changing(let task): task?.cancel()
        case .loading(let load): load.stopLoading()
        }
        if let proposal = redirectState.withLock({ $0.proposedRequest }) { return hooks.observeEnd(.redirected(to: proposal)) }
        guard let reason = (client as? any StopReasonSource)?.stopReason, reason.code != .cancelled else {
            return hooks.observeEnd(.stopped)
        }
        hooks.observeEnd(.failed(reason))
    }

    func resumeLoading() {
        redirectState.withLock { $0 = RedirectState(proposedRequest: nil, resumeCount: $0.resumeCount &+ 1) }
        if case .loading(let load) = state.withLock({ $0 }) { load.resumeLoading() }
    }

    private func changeAndLoad() async {
        if case .over = state.withLock({ $0 }) { return }
        var changedRequest = request
        do {
            try await hooks.changeRequest(&changedRequest)
            guard changedRequest.url == request.url else {
                throw LoadError(
                    .badRequest,
                    message: "the interceptor \(identifier) changed the URL \(request.url.shortDescription); it may change "
                        + "everything else")
            }
            start(changedRequest)
        } catch let error as LoadError {
            fail(error)
        } catch let error as CancellationError {
            fail(LoadError(.cancelled, message: "the interceptor \(identifier) cancelled the load", underlyingError: error))
        } catch {
            fail(LoadError(.unknown, message: "the interceptor \(identifier) threw an error", underlyingError: error))
        }
    }

    private func start(_ changedRequest: Request) {
        let load = client.makeLoadByNextHandler(for: changedRequest, client: InterceptingClient(self, next: client))
        let mustStart = state.withLock { state in
            if case .over = state { return false }
            state = .loading(load)
            return true
        }
        if mustStart { load.startLoading() }
    }

    private func fail(_ error: LoadError) {
        if finish(.failed(error)) { client.didFail(with: error) }
    }

    /// - Returns: the previous state.
    private func markOver() -> State {
        state.withLock { state in
            defer { state = .over }
            return state
        }
    }

    // MARK: Events of the next handler

    func didReceive(_ response: Response) {
        if case .loading = state.withLock({ $0 }) { hooks.observeResponse(response) }
    }

    /// - Parameter forward: forwards the redirect, and returns the flow. `.pause` means that the decision is deferred.
    func didRedirect(to proposal: Request, _ response: Response, _ forward: () -> Flow) -> Flow {
        if case .loading = state.withLock({ $0 }) { hooks.observeRedirect(response) }
        let resumeCount = redirectState.withLock { $0.resumeCount }
        let flow = forward()
        switch flow {
        case .keepGoing: break
        case .pause: redirectState.withLock { if $0.resumeCount == resumeCount { $0.proposedRequest = proposal } }
        case .stopped: _ = finish(.redirected(to: proposal))
        }
        return flow
    }

    /// Ends the load, and notifies the interceptor.
    ///
    /// - Returns: `false` if the load had ended before.
    func finish(_ outcome: Interceptor.Outcome) -> Bool {
        if case .over = markOver() { return false }
        hooks.observeEnd(outcome)
        return true
    }
}

/// Forwards the events of the next handler, and notifies the interceptor of responses and the end.
private final class InterceptingClient: ForwardingClient, StopReasonSource {
    let next: any ProtocolClient
    private let load: InterceptedLoad

    init(_ load: InterceptedLoad, next: any ProtocolClient) { (self.load, self.next) = (load, next) }

    func wasRedirected(to request: Request, redirectResponse: Response) -> Flow {
        load.didRedirect(to: request, redirectResponse) { next.wasRedirected(to: request, redirectResponse: redirectResponse) }
    }

    func didReceive(_ response: Response, storage: CacheStoragePolicy) -> Flow {
        load.didReceive(response)
        return next.didReceive(response, storage: storage)
    }

    func didFinishLoading() {
        if load.finish(.finished) { next.didFinishLoading() }
    }

    func didFail(with error: LoadError) {
        if load.finish(.failed(error)) { next.didFail(with: error) }
    }
}
