// SPDX-License-Identifier: Apache-2.0

import Synchronization

/// The load of a request by the next matching handler, for a handler in front of it, such as an interceptor. Its events
/// reach the front handler's client unchanged.
///
/// It has a separate ``HandlerLoad``, so that an error about the order of events names the handler that violated it.
package final class NextHandlerLoad: ProtocolLoad {
    private struct State {
        var handlerLoad: HandlerLoad?
        /// The next handler, if it is known.
        var entry: RegisteredHandler?
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
    package var stopsAsynchronously: Bool { true }

    /// Sets the next handler, so that it need not be found, and a stored response that it can confirm. Must be called
    /// before the start.
    package func use(_ entry: RegisteredHandler, offering cached: CachedResponse?) {
        state.withLock { ($0.entry, $0.cachedResponse) = (entry, cached) }
    }

    package func startLoading() {
        guard let task, let entry = state.withLock({ $0.entry }), entry.beginLoad() else {
            return findHandlerAndStart(unavailableHandlers: [])
        }
        startLoad(by: entry, of: task)
    }

    package func stopLoading() {
        let handlerLoad = state.withLock { state in
            state.isStopped = true
            return state.handlerLoad.take()
        }
        handlerLoad?.endSilently()
    }

    /// Also declines a redirect whose decision was deferred.
    package func resumeLoading() {
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
        let prepared = task.loader.prepare(request, for: entry, client: client, task: task)
        let (entry, request, handler) = (prepared.entry, prepared.request, prepared.entry.handler)
        let cached = state.withLock { $0.cachedResponse }
        let loopGuard = LoopGuard(handler: handler.identifier, url: request.url)
        let handlerLoad = HandlerLoad(
            handler: handler.identifier, traits: handler.traits, request: request, offersCachedResponse: cached != nil,
            interimLimit: task.loader.configuration.maximumInterimResponsesPerRequest,
            next: LoopGuardClient(loopGuard, next: prepared.client),
            observer: HandlerLoadReporter(entry: entry, loader: task.loader, task: task, servesDelegate: false))
        let mustStart = state.withLock { state in
            if !state.isStopped { state.handlerLoad = handlerLoad }
            return !state.isStopped
        }
        guard mustStart else { return entry.endLoad() }
        task.loader.logStep("passed on to \(handler.identifier)", of: task, requestNumber: task.requestNumber)
        handlerLoad.start(handler.makeLoad(for: request, cachedResponse: cached, client: handlerLoad))
    }
}

/// Adds a handler's loop guard to the requests that the handler makes.
private final class LoopGuardClient: ForwardingClient, StopReasonSource {
    let next: any ProtocolClient
    private let loopGuard: LoopGuard

    init(_ loopGuard: LoopGuard, next: any ProtocolClient) { (self.loopGuard, self.next) = (loopGuard, next) }

    func makeNestedLoad(for request: Request, client: any ProtocolClient) -> any ProtocolLoad {
        next.makeNestedLoad(for: request.adding(loopGuard), client: client)
    }

    func makeLoadByNextHandler(for request: Request, client: any ProtocolClient) -> any ProtocolLoad {
        next.makeLoadByNextHandler(for: request.adding(loopGuard), client: client)
    }
}

extension Request {
    package func adding(_ loopGuard: LoopGuard) -> Request {
        var request = self
        request.visitedHandlers.append(loopGuard)
        return request
    }
}
