// SPDX-License-Identifier: Apache-2.0

import Synchronization

/// A load by the handler that comes after the one in front. Its events reach the front handler's client unchanged.
///
/// It has its own ``HandlerLoad``, so that the order of events is enforced on the handler that violates it.
final class NextHandlerLoad: ProtocolLoad {
    private struct State {
        var handlerLoad: HandlerLoad?
        var isStopped = false
    }

    private let request: Request
    private weak let task: LoadTask?
    private let client: any ProtocolClient
    private let state = Mutex(State())

    /// - Parameter request: a request with the loop guard of the requesting handler.
    init(_ request: Request, of task: LoadTask, client: any ProtocolClient) {
        (self.request, self.task, self.client) = (request, task, client)
    }

    /// Always `true`, because the thread that delivers an event forwards it, and may be about to do so.
    var stopsInTurn: Bool { true }

    func startLoading() { launch(failed: []) }

    func stopLoading() {
        let handlerLoad = state.withLock { state in
            state.isStopped = true
            return state.handlerLoad.take()
        }
        handlerLoad?.abandon()
    }

    /// If a redirect is being decided, it is declined.
    func resumeLoading() {
        let handlerLoad = state.withLock { $0.handlerLoad }
        handlerLoad?.declineRedirect()
        handlerLoad?.resume()
    }

    private func launch(failed: [(deferred: LazyHandlers, error: LoadError)]) {
        guard let task else { return }  // the task was released, and its load is being stopped
        do throws(LoadError) {
            switch try task.loader.find(request, failed: failed) {
            case .handler(let entry): start(entry, of: task)
            case .deferred(let deferred):
                deferred.resolve { [self] outcome in
                    task.resetIdleTimer()
                    guard case .failure(let error) = outcome else { return launch(failed: failed) }
                    task.loader.report(error, of: deferred)
                    launch(failed: failed + [(deferred, error)])
                }
            }
        } catch {
            if !state.withLock({ $0.isStopped }) { client.didFail(with: error) }
        }
    }

    private func start(_ entry: RegisteredHandler, of task: LoadTask) {
        var canonical = entry.handler.canonicalRequest(for: request)
        let client = task.loader.applyPolicies(to: &canonical, of: entry.handler, client: client)
        let mark = LoopGuard(handler: entry.handler.identifier, url: canonical.url)
        let handlerLoad = HandlerLoad(
            handler: entry.handler.identifier, traits: entry.handler.traits, request: canonical, offersCached: false,
            interimLimit: task.loader.configuration.maximumInterimResponsesPerRequest, next: MarkingStage(mark, next: client),
            observer: HandlerLoadRecord(entry: entry, loader: task.loader, task: task, servesDelegate: false))
        let starts = state.withLock { state in
            if !state.isStopped { state.handlerLoad = handlerLoad }
            return !state.isStopped
        }
        guard starts else { return entry.endLoad() }
        handlerLoad.start(entry.handler.makeLoad(for: canonical, cachedResponse: nil, client: handlerLoad))
    }
}

/// Adds the loop guard of the next load's handler to the requests that the handler makes.
private final class MarkingStage: ForwardingClient {
    let next: any ProtocolClient
    private let mark: LoopGuard

    init(_ mark: LoopGuard, next: any ProtocolClient) { (self.mark, self.next) = (mark, next) }

    func makeNestedLoad(for request: Request, client: any ProtocolClient) -> any ProtocolLoad {
        next.makeNestedLoad(for: marked(request), client: client)
    }

    func makeLoadByNextHandler(for request: Request, client: any ProtocolClient) -> any ProtocolLoad {
        next.makeLoadByNextHandler(for: marked(request), client: client)
    }

    private func marked(_ request: Request) -> Request {
        var request = request
        request.visitedHandlers.append(mark)
        return request
    }
}
