// SPDX-License-Identifier: Apache-2.0

public import HTTPTypes
import Synchronization

/// Receives the events of a task in order, and decides about redirects and challenges.
///
/// Calls come one at a time, including calls about nested loads, on the ``DeliveryQueue`` of the task. Every member has
/// a default: data is dropped, redirects are followed, challenges get default handling.
public protocol LoadDelegate: AnyObject, Sendable {
    /// The response. In a multipart load, each part has its own response.
    ///
    /// - Returns: `.keepGoing` to continue; `.pause` to receive nothing more until ``LoadTask/resume()``; `.stopped` to
    ///   end the load as ``LoadTask/cancel()`` does.
    func loadTask(_ task: LoadTask, didReceive response: Response) -> Flow

    /// The next bytes of the body. They are borrowed until the call returns: copy what you keep. The return value has
    /// the same meaning as for the response.
    func loadTask(_ task: LoadTask, didLoad bytes: borrowing RawSpan) -> Flow

    func loadTask(_ task: LoadTask, didReceiveInterim response: Response)
    /// The request is sent again, because a credential answers the 401 or 407 in `response`, or because `response` is
    /// a 417. `response` is not delivered. For observers.
    func loadTask(_ task: LoadTask, willResendAfter response: Response)
    /// The load waits for a network (``Loader/Configuration/waitsForConnectivity``). Called once for a task.
    func loadTaskIsWaitingForConnectivity(_ task: LoadTask)
    func loadTask(_ task: LoadTask, didReceiveTrailers fields: HTTPFields)
    func loadTask(_ task: LoadTask, didReach step: LoadStep)
    /// More of the request's body was sent. The counts are in ``LoadTask/progress``.
    func loadTaskDidSend(_ task: LoadTask)
    /// More of the response's body has arrived. Called only if the delegate does not receive the data itself, as in
    /// ``Loader/data(for:delegate:)``. The counts are in ``LoadTask/progress``. One call can cover several pieces.
    func loadTaskDidReceiveBytes(_ task: LoadTask)

    /// - Parameters:
    ///   - task: the task. Its ``LoadTask/currentRequest`` is the request that was redirected.
    ///   - request: the proposed next request. If it goes to another origin, it has no credentials.
    ///   - response: the redirect response.
    ///   - decide: call it once, immediately or later, on any thread. If it is released without a call, the redirect is
    ///     followed.
    func loadTask(
        _ task: LoadTask, willRedirectTo request: Request, response: Response, decide: @escaping @Sendable (RedirectDecision) -> Void)

    /// A challenge. Answer it once, immediately or later, on any thread. By default, the delegate of the loader
    /// receives the challenge, if there is one; otherwise default handling answers it.
    func loadTask(_ task: LoadTask, didReceive challenge: AuthenticationChallenge)

    /// The challenge was cancelled: an answer has no effect any more.
    func loadTask(_ task: LoadTask, didCancel challenge: AuthenticationChallenge)

    /// The request's body must be sent again. By default, the request's own body is sent again if it can be read twice.
    ///
    /// - Parameters:
    ///   - task: the task whose load needs the body.
    ///   - answer: call it once, immediately or later, on any thread. `nil` fails the load.
    func loadTask(_ task: LoadTask, needsNewBody answer: @escaping @Sendable (Body?) -> Void)

    /// The loader's cache is about to store the response. It is stored if `decide` receives a response.
    ///
    /// Comes before the response itself. The delivery does not wait for the decision. The body is buffered until then:
    /// if more than 1 MiB arrives before the decision, or if the load ends, nothing is stored.
    ///
    /// - Parameters:
    ///   - task: the task. For a nested load, the task that the caller made.
    ///   - response: the response and its storage policy. Its user information is empty.
    ///   - decide: call it once, immediately or later, on any thread, with the response to store. `nil` stores nothing.
    func loadTask(
        _ task: LoadTask, willCache response: CacheableResponse, decide: @escaping @Sendable (CacheableResponse?) -> Void)

    /// A nested load began, at any depth (``LoadTask/parent``). A handler made it as a part
    /// of its own load, for example to load the URL inside a `gzip:` URL.
    ///
    /// For observers: the bytes of the nested load go to that handler. This delegate also decides about the redirects
    /// and challenges of the nested load.
    func loadTask(_ task: LoadTask, didBeginNestedTask nestedTask: LoadTask)

    /// A nested load ended, before its parent. Called for each nested load that began. `error` is `nil` if the nested
    /// load is complete.
    func loadTask(_ task: LoadTask, nestedTask: LoadTask, didEndWith error: LoadError?)

    /// The load ended. The last call. `error` is `nil` if the load is complete. ``LoadTask/metrics`` are complete now.
    func loadTask(_ task: LoadTask, didEndWith error: LoadError?)
}

extension LoadDelegate {
    public func loadTask(_ task: LoadTask, didReceive response: Response) -> Flow { .keepGoing }
    public func loadTask(_ task: LoadTask, didLoad bytes: borrowing RawSpan) -> Flow { .keepGoing }
    public func loadTask(_ task: LoadTask, didReceiveInterim response: Response) {}
    public func loadTask(_ task: LoadTask, willResendAfter response: Response) {}
    public func loadTaskIsWaitingForConnectivity(_ task: LoadTask) {}
    public func loadTask(_ task: LoadTask, didReceiveTrailers fields: HTTPFields) {}
    public func loadTask(_ task: LoadTask, didReach step: LoadStep) {}
    public func loadTaskDidSend(_ task: LoadTask) {}
    public func loadTaskDidReceiveBytes(_ task: LoadTask) {}
    public func loadTask(
        _ task: LoadTask, willRedirectTo request: Request, response: Response, decide: @escaping @Sendable (RedirectDecision) -> Void
    ) {
        decide(.follow(request))
    }
    public func loadTask(_ task: LoadTask, didReceive challenge: AuthenticationChallenge) {
        task.forward(challenge)
    }
    public func loadTask(_ task: LoadTask, didCancel challenge: AuthenticationChallenge) {
        task.forwardCancellation(of: challenge)
    }
    public func loadTask(_ task: LoadTask, needsNewBody answer: @escaping @Sendable (Body?) -> Void) {
        let body = task.currentRequest.body
        answer(body.flatMap { $0.isRewindable ? $0 : nil })
    }
    public func loadTask(
        _ task: LoadTask, willCache response: CacheableResponse, decide: @escaping @Sendable (CacheableResponse?) -> Void
    ) {
        decide(response)
    }
    public func loadTask(_ task: LoadTask, didBeginNestedTask nestedTask: LoadTask) {}
    public func loadTask(_ task: LoadTask, nestedTask: LoadTask, didEndWith error: LoadError?) {}
    public func loadTask(_ task: LoadTask, didEndWith error: LoadError?) {}
}

extension LoadTask {
    /// The delegate of the loader, if it is not the delegate of the task.
    private var otherLoaderDelegate: (any LoaderDelegate)? {
        var own: any LoadDelegate = delegate
        while let inner = (own as? any ForwardingDelegate)?.delegate { own = inner }
        return loader.delegateOfNewTasks.flatMap { $0 === own ? nil : $0 }
    }

    /// Asks the delegate of the loader, because no other delegate answers. It receives a challenge only once, also if
    /// it asks a delegate that has no method for challenges.
    func forward(_ challenge: AuthenticationChallenge) {
        guard let other = otherLoaderDelegate, !challenge.isForwarded.exchange(true, ordering: .relaxed) else {
            return challenge.answer(.performDefault)
        }
        other.loadTask(self, didReceive: challenge)
    }

    func forwardCancellation(of challenge: AuthenticationChallenge) {
        guard let other = otherLoaderDelegate, !challenge.isCancellationForwarded.exchange(true, ordering: .relaxed) else { return }
        other.loadTask(self, didCancel: challenge)
    }
}

/// A delegate that handles some events itself, and forwards the other events to another delegate, if there is one.
package protocol ForwardingDelegate: LoadDelegate {
    var delegate: (any LoadDelegate)? { get }
}

/// Makes the default decisions if there is no delegate.
private final class NoDelegate: LoadDelegate {
    static let shared = NoDelegate()
}

extension ForwardingDelegate {
    private var decider: any LoadDelegate { delegate ?? NoDelegate.shared }

    /// Forwards the end of a task, except to the delegate of a loader that has received the loader's end before.
    package func forwardEnd(of task: LoadTask, _ error: LoadError?) {
        guard let delegate, !task.isHidden(from: delegate) else { return }
        delegate.loadTask(task, didEndWith: error)
    }

    package func loadTask(_ task: LoadTask, didReceiveInterim response: Response) { delegate?.loadTask(task, didReceiveInterim: response) }
    package func loadTask(_ task: LoadTask, willResendAfter response: Response) { delegate?.loadTask(task, willResendAfter: response) }
    package func loadTaskIsWaitingForConnectivity(_ task: LoadTask) { delegate?.loadTaskIsWaitingForConnectivity(task) }
    package func loadTask(_ task: LoadTask, didReceiveTrailers fields: HTTPFields) { delegate?.loadTask(task, didReceiveTrailers: fields) }
    package func loadTask(_ task: LoadTask, didReach step: LoadStep) { delegate?.loadTask(task, didReach: step) }
    package func loadTaskDidSend(_ task: LoadTask) { delegate?.loadTaskDidSend(task) }
    package func loadTaskDidReceiveBytes(_ task: LoadTask) { delegate?.loadTaskDidReceiveBytes(task) }
    package func loadTask(
        _ task: LoadTask, willRedirectTo request: Request, response: Response, decide: @escaping @Sendable (RedirectDecision) -> Void
    ) {
        decider.loadTask(task, willRedirectTo: request, response: response, decide: decide)
    }
    package func loadTask(_ task: LoadTask, didReceive challenge: AuthenticationChallenge) { decider.loadTask(task, didReceive: challenge) }
    package func loadTask(_ task: LoadTask, didCancel challenge: AuthenticationChallenge) { delegate?.loadTask(task, didCancel: challenge) }
    package func loadTask(_ task: LoadTask, needsNewBody answer: @escaping @Sendable (Body?) -> Void) {
        decider.loadTask(task, needsNewBody: answer)
    }
    package func loadTask(
        _ task: LoadTask, willCache response: CacheableResponse, decide: @escaping @Sendable (CacheableResponse?) -> Void
    ) {
        decider.loadTask(task, willCache: response, decide: decide)
    }
    package func loadTask(_ task: LoadTask, didBeginNestedTask nestedTask: LoadTask) {
        delegate?.loadTask(task, didBeginNestedTask: nestedTask)
    }
    package func loadTask(_ task: LoadTask, nestedTask: LoadTask, didEndWith error: LoadError?) {
        delegate?.loadTask(task, nestedTask: nestedTask, didEndWith: error)
    }
}
