// SPDX-License-Identifier: Apache-2.0

import Synchronization

/// The load of a request by the next matching handler, for a handler in front of it, such as an interceptor. Its events
/// reach the front handler's client unchanged.
///
/// It has a separate ``HandlerLoad``, so that an error about the order of events names the handler that violated it.
final class NextHandlerLoad: NextLoad {
    private struct State {
        var handlerLoad: HandlerLoad?
        var cachedResponse: CachedResponse?
        var isStopped = false
    }

    private let request: Request
    private weak let task: LoadTask?
    private let client: any ProtocolClient
    private let state = Mutex(State())

    /// - Parameter request: contains the loop guard of the front handler.
    init(_ request: Request, of task: LoadTask, client: any ProtocolClient) {
        (self.request, self.task, self.client) = (request, task, client)
    }

    /// Always `true`, because a thread can be about to forward an event.
    var stopsAsynchronously: Bool { true }

    func offer(_ cached: CachedResponse) { state.withLock { $0.cachedResponse = cached } }

    func startLoading() { findHandlerAndStart(unavailableHandlers: []) }

    func stopLoading() {
        let handlerLoad = state.withLock { state in
            state.isStopped = true
            return state.handlerLoad.take()
        }
        handlerLoad?.endSilently()
    }

    /// Also declines a redirect whose decision was deferred.
    func resumeLoading() {
        let handlerLoad = state.withLock { $0.handlerLoad }
        handlerLoad?.declineRedirect()
        handlerLoad?.resume()
    }

    private func findHandlerAndStart(unavailableHandlers: [(deferred: LazyHandlers, error: LoadError)]) {
        guard let task else { return }  // the task was released, and its load is being stopped
        do throws(LoadError) {
            switch try task.loader.find(request, unavailableHandlers: unavailableHandlers) {
            case .handler(let entry): startLoad(by: entry, of: task)
            case .deferred(let deferred):
                deferred.resolve { [self] outcome in
                    task.resetIdleTimer()
                    guard case .failure(let error) = outcome else { return findHandlerAndStart(unavailableHandlers: unavailableHandlers) }
                    task.loader.report(error, of: deferred)
                    findHandlerAndStart(unavailableHandlers: unavailableHandlers + [(deferred, error)])
                }
            }
        } catch {
            if !state.withLock({ $0.isStopped }) { client.didFail(with: error) }
        }
    }

    private func startLoad(by entry: RegisteredHandler, of task: LoadTask) {
        var canonical = entry.handler.canonicalRequest(for: request)
        let client = task.loader.applyPolicies(to: &canonical, of: entry.handler, client: client, task: task)
        let cached = state.withLock { $0.cachedResponse }
        let loopGuard = LoopGuard(handler: entry.handler.identifier, url: canonical.url)
        let handlerLoad = HandlerLoad(
            handler: entry.handler.identifier, traits: entry.handler.traits, request: canonical, offersCachedResponse: cached != nil,
            interimLimit: task.loader.configuration.maximumInterimResponsesPerRequest, next: LoopGuardClient(loopGuard, next: client),
            observer: HandlerLoadReporter(entry: entry, loader: task.loader, task: task, servesDelegate: false))
        let mustStart = state.withLock { state in
            if !state.isStopped { state.handlerLoad = handlerLoad }
            return !state.isStopped
        }
        guard mustStart else { return entry.endLoad() }
        task.loader.logStep("passed on to \(entry.handler.identifier)", of: task, requestNumber: task.requestNumber)
        handlerLoad.start(entry.handler.makeLoad(for: canonical, cachedResponse: cached, client: handlerLoad))
    }
}

/// Adds a handler's loop guard to the requests that the handler makes.
private final class LoopGuardClient: ForwardingClient {
    let next: any ProtocolClient
    private let loopGuard: LoopGuard

    init(_ loopGuard: LoopGuard, next: any ProtocolClient) { (self.loopGuard, self.next) = (loopGuard, next) }

    func makeNestedLoad(for request: Request, client: any ProtocolClient) -> any ProtocolLoad {
        next.makeNestedLoad(for: addingLoopGuard(to: request), client: client)
    }

    func makeLoadByNextHandler(for request: Request, client: any ProtocolClient) -> any ProtocolLoad {
        next.makeLoadByNextHandler(for: addingLoopGuard(to: request), client: client)
    }

    private func addingLoopGuard(to request: Request) -> Request {
        var request = request
        request.visitedHandlers.append(loopGuard)
        return request
    }
}
