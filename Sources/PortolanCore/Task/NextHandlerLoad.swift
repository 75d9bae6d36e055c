// SPDX-License-Identifier: Apache-2.0

import Synchronization

/// The load of whoever is asked after the handler that stands in front: its events come to that handler's client as they are.
///
/// An attempt of its own, so that the order of events is enforced on the handler that breaks it.
final class NextHandlerLoad: ProtocolLoad {
    private struct State {
        var handlerLoad: HandlerLoad?
        var isStopped = false
    }

    private let request: Request
    private weak let task: LoadTask?
    private let client: any ProtocolClient
    private let state = Mutex(State())

    /// - Parameter request: one that carries the mark of the handler that asks.
    init(_ request: Request, of task: LoadTask, client: any ProtocolClient) {
        (self.request, self.task, self.client) = (request, task, client)
    }

    /// Its events are passed on by the thread that brings them, which may be about to.
    var stopsInTurn: Bool { true }

    func startLoading() { launch(failed: []) }

    func stopLoading() {
        let handlerLoad = state.withLock { state in
            state.isStopped = true
            return state.handlerLoad.take()
        }
        handlerLoad?.abandon()
    }

    /// Where a redirect is being decided, it is not taken.
    func resumeLoading() {
        let handlerLoad = state.withLock { $0.handlerLoad }
        handlerLoad?.declineRedirect()
        handlerLoad?.resume()
    }

    private func launch(failed: [(deferred: LazyHandlers, error: LoadError)]) {
        guard let task else { return }  // released, and its load is being stopped
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
        let canonical = entry.handler.canonicalRequest(for: request)
        let mark = LoopGuard(handler: entry.handler.identifier, url: canonical.url)
        let handlerLoad = HandlerLoad(
            handler: entry.handler.identifier, traits: entry.handler.traits, request: canonical, offersCached: false,
            interimLimit: task.loader.configuration.interimResponseLimit, next: MarkingStage(mark, next: client),
            observer: NextHandlerLoadRecord(entry: entry, loader: task.loader, task: task))
        let starts = state.withLock { state in
            if !state.isStopped { state.handlerLoad = handlerLoad }
            return !state.isStopped
        }
        guard starts else { return entry.endLoad() }
        handlerLoad.start(entry.handler.makeLoad(for: canonical, cachedResponse: nil, client: handlerLoad))
    }
}

/// Marks what a next load's handler asks for as its own.
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

private struct NextHandlerLoadRecord: HandlerLoadObserver {
    let entry: RegisteredHandler
    let loader: Loader
    weak let task: LoadTask?

    func handlerLoadObserved(violationOf rule: ContractRule, by handler: String, isFirst: Bool) {
        loader.report(violationOf: rule, by: handler, logging: isFirst)
    }
    func handlerLoadRepeated(_ counts: [ContractRule: Int], by handler: String) { loader.report(repeated: counts, by: handler) }
    func handlerLoadEnded() { entry.endLoad() }
    func handlerLoadEnteredQueue(_ wait: QueueWait, _ handlerLoad: ObjectIdentifier) { task?.enterQueue(wait, handlerLoad) }
    func handlerLoadLeftQueue(_ handlerLoad: ObjectIdentifier, mayReturn: Bool) { task?.leaveQueue(handlerLoad, mayReturn: mayReturn) }
}
