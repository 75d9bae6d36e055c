// SPDX-License-Identifier: Apache-2.0

public import HTTPTypes
public import PortolanCore
import Synchronization

/// A delegate that records the events of a load, and decides as the test requires.
public final class RecordingDelegate: LoadDelegate {
    public enum Event: Equatable, Sendable {
        case response(URLRecord)
        case data([UInt8])
        case interim, trailers
        case step(LoadStep)
        case sent
        case redirect(URLRecord)
        case challenge, challengeCancelled, newBody
        /// A nested load began at this depth.
        case nestedLoadBegan(URLRecord, depth: Int)
        /// A nested load ended. The code is `nil` if the load is complete.
        case nestedLoadEnded(URLRecord, LoadError.Code?)
        case finished
        case failed(LoadError.Code)
    }

    private struct State {
        var events: [Event] = []
        var body: [UInt8] = []
        var error: LoadError?
        var waiters: [@Sendable () -> Void] = []
        var hasEnded = false
    }

    private let state = Mutex(State())
    private let onEvent: @Sendable (Event, LoadTask) -> Flow
    private let onRedirect: @Sendable (Request, @escaping @Sendable (RedirectDecision) -> Void) -> Void
    private let onChallenge: @Sendable (AuthenticationChallenge) -> Void

    /// - Parameters:
    ///   - onEvent: called after each event was recorded. Its result applies to the response and to data.
    ///   - onRedirect: decides about a redirect. By default it follows the redirect.
    ///   - onChallenge: answers a challenge. By default it chooses default handling.
    public init(
        onEvent: @escaping @Sendable (Event, LoadTask) -> Flow = { _, _ in .keepGoing },
        onRedirect: @escaping @Sendable (Request, @escaping @Sendable (RedirectDecision) -> Void) -> Void = { $1(.follow($0)) },
        onChallenge: @escaping @Sendable (AuthenticationChallenge) -> Void = { $0.answer(.performDefault) }
    ) {
        self.onEvent = onEvent
        self.onRedirect = onRedirect
        self.onChallenge = onChallenge
    }

    public var events: [Event] { state.withLock { $0.events } }
    public var body: [UInt8] { state.withLock { $0.body } }
    public var error: LoadError? { state.withLock { $0.error } }
    public var text: String { String(decoding: body, as: UTF8.self) }

    /// Waits until the load has ended.
    public func ended() async {
        await withCheckedContinuation { continuation in
            let hasEnded = state.withLock { state in
                if !state.hasEnded { state.waiters.append { continuation.resume() } }
                return state.hasEnded
            }
            if hasEnded { continuation.resume() }
        }
    }

    @discardableResult
    private func record(_ event: Event, for task: LoadTask) -> Flow {
        state.withLock { state in
            state.events.append(event)
            if case .data(let bytes) = event { state.body += bytes }
        }
        return onEvent(event, task)
    }

    public func loadTask(_ task: LoadTask, didReceive response: Response) -> Flow { record(.response(response.url), for: task) }
    public func loadTask(_ task: LoadTask, didLoad bytes: borrowing RawSpan) -> Flow {
        record(.data(unsafe bytes.withUnsafeBytes { unsafe [UInt8]($0) }), for: task)
    }
    public func loadTask(_ task: LoadTask, didReceiveInterim response: Response) { record(.interim, for: task) }
    public func loadTask(_ task: LoadTask, didReceiveTrailers fields: HTTPFields) { record(.trailers, for: task) }
    public func loadTask(_ task: LoadTask, didReach step: LoadStep) { record(.step(step), for: task) }
    public func loadTaskDidSend(_ task: LoadTask) { record(.sent, for: task) }
    public func loadTask(
        _ task: LoadTask, willRedirectTo request: Request, response: Response, decide: @escaping @Sendable (RedirectDecision) -> Void
    ) {
        record(.redirect(request.url), for: task)
        onRedirect(request, decide)
    }
    public func loadTask(_ task: LoadTask, didReceive challenge: AuthenticationChallenge) {
        record(.challenge, for: task)
        onChallenge(challenge)
    }
    public func loadTask(_ task: LoadTask, didCancel challenge: AuthenticationChallenge) { record(.challengeCancelled, for: task) }
    public func loadTask(_ task: LoadTask, needsNewBody answer: @escaping @Sendable (Body?) -> Void) {
        record(.newBody, for: task)
        let body = task.currentRequest.body
        answer(body.flatMap { $0.isRewindable ? $0 : nil })
    }
    public func loadTask(_ task: LoadTask, didBeginNestedTask nestedTask: LoadTask) {
        record(.nestedLoadBegan(nestedTask.originalRequest.url, depth: nestedTask.nestingDepth), for: task)
    }
    public func loadTask(_ task: LoadTask, nestedTask: LoadTask, didEndWith error: LoadError?) {
        record(.nestedLoadEnded(nestedTask.originalRequest.url, error?.code), for: task)
    }
    public func loadTask(_ task: LoadTask, didEndWith error: LoadError?) {
        record(error.map { .failed($0.code) } ?? .finished, for: task)
        let waiters = state.withLock { state in
            state.error = error
            state.hasEnded = true
            defer { state.waiters = [] }
            return state.waiters
        }
        for waiter in waiters { waiter() }
    }
}
