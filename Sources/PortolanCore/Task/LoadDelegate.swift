// SPDX-License-Identifier: Apache-2.0

public import HTTPTypes

/// Follows a load, in the order in which things happen, and decides where it asks.
///
/// Calls are serial, those that loads inside this one bring too, on the ``DeliveryQueue`` that the load was started with. Every member has a default: data is dropped, redirects are followed,
/// challenges get default handling.
public protocol LoadDelegate: AnyObject, Sendable {
    /// The response; again for each part of a multipart load.
    ///
    /// - Returns: `.pause` delivers nothing more until ``LoadTask/resume()``; `.stopped` ends the load as ``LoadTask/cancel()`` does.
    func loadTask(_ task: LoadTask, didReceive response: Response) -> Flow

    /// The next bytes, lent until the call returns: copy what you keep. Answers as for the response.
    func loadTask(_ task: LoadTask, didLoad bytes: borrowing RawSpan) -> Flow

    func loadTask(_ task: LoadTask, didReceiveInterim response: Response)
    /// The request is sent again, and `response` is not delivered: a 401 or 407 that a credential answers, of the URL's user as of a delegate's, or a 417. For
    /// those who look on.
    func loadTask(_ task: LoadTask, willResendAfter response: Response)
    func loadTask(_ task: LoadTask, didReceiveTrailers fields: HTTPFields)
    func loadTask(_ task: LoadTask, didReach step: LoadStep)
    /// More of the request's body is on its way; the counts are in ``LoadTask/progress``.
    func loadTaskDidSend(_ task: LoadTask)

    /// - Parameters:
    ///   - task: the load; ``LoadTask/currentRequest`` is still what the redirect answers.
    ///   - request: what would be loaded next, credentials for another origin already taken out.
    ///   - response: the redirect itself.
    ///   - decide: to be called once, now or later, from any thread; where it is let go of without a call, the redirect is followed.
    func loadTask(
        _ task: LoadTask, willRedirectTo request: Request, response: Response, decide: @escaping @Sendable (RedirectDecision) -> Void)

    /// To be answered once, now or later, from any thread.
    func loadTask(_ task: LoadTask, didReceive challenge: AuthenticationChallenge)

    /// The challenge need no longer be answered.
    func loadTask(_ task: LoadTask, didCancel challenge: AuthenticationChallenge)

    /// The request's body has to be sent again. By default it is the request's own, if it can be read twice.
    func loadTask(_ task: LoadTask, needsNewBody answer: @escaping @Sendable (Body?) -> Void)

    /// A load inside this one began, at any depth (``LoadTask/parent``, ``LoadTask/nestingDepth``): what a layered scheme holds, or what a
    /// handler asks for again. For those who look on: its bytes go to the handler that opened it, its redirects and challenges come here as
    /// the task's own.
    func loadTask(_ task: LoadTask, didBegin inner: LoadTask)

    /// Each load inside that began also ends, before the one around it; `nil` where it is complete.
    func loadTask(_ task: LoadTask, inner: LoadTask, didEndWith error: LoadError?)

    /// The last call; `nil` where the load is complete.
    func loadTask(_ task: LoadTask, didEndWith error: LoadError?)
}

extension LoadDelegate {
    public func loadTask(_ task: LoadTask, didReceive response: Response) -> Flow { .keepGoing }
    public func loadTask(_ task: LoadTask, didLoad bytes: borrowing RawSpan) -> Flow { .keepGoing }
    public func loadTask(_ task: LoadTask, didReceiveInterim response: Response) {}
    public func loadTask(_ task: LoadTask, willResendAfter response: Response) {}
    public func loadTask(_ task: LoadTask, didReceiveTrailers fields: HTTPFields) {}
    public func loadTask(_ task: LoadTask, didReach step: LoadStep) {}
    public func loadTaskDidSend(_ task: LoadTask) {}
    public func loadTask(
        _ task: LoadTask, willRedirectTo request: Request, response: Response, decide: @escaping @Sendable (RedirectDecision) -> Void
    ) {
        decide(.follow(request))
    }
    public func loadTask(_ task: LoadTask, didReceive challenge: AuthenticationChallenge) { challenge.answer(.performDefault) }
    public func loadTask(_ task: LoadTask, didCancel challenge: AuthenticationChallenge) {}
    public func loadTask(_ task: LoadTask, needsNewBody answer: @escaping @Sendable (Body?) -> Void) {
        let body = task.currentRequest.body
        answer(body.flatMap { $0.isRewindable ? $0 : nil })
    }
    public func loadTask(_ task: LoadTask, didBegin inner: LoadTask) {}
    public func loadTask(_ task: LoadTask, inner: LoadTask, didEndWith error: LoadError?) {}
    public func loadTask(_ task: LoadTask, didEndWith error: LoadError?) {}
}

/// A delegate that keeps what it is for, and hands everything else to another one, if there is one.
protocol DelegatingDelegate: LoadDelegate {
    var delegate: (any LoadDelegate)? { get }
}

/// A delegate that holds events back while its task is suspended.
protocol EventHoldingDelegate: LoadDelegate {
    func taskWasResumed(_ task: LoadTask)
    /// The task was cancelled after its load had ended: if that end is held back, it is told as `error`.
    func taskWasCancelled(_ task: LoadTask, _ error: LoadError)
}

/// What decides when there is no delegate.
private final class NoDelegate: LoadDelegate {
    static let shared = NoDelegate()
}

extension DelegatingDelegate {
    private var decider: any LoadDelegate { delegate ?? NoDelegate.shared }

    func loadTask(_ task: LoadTask, didReceiveInterim response: Response) { delegate?.loadTask(task, didReceiveInterim: response) }
    func loadTask(_ task: LoadTask, willResendAfter response: Response) { delegate?.loadTask(task, willResendAfter: response) }
    func loadTask(_ task: LoadTask, didReceiveTrailers fields: HTTPFields) { delegate?.loadTask(task, didReceiveTrailers: fields) }
    func loadTask(_ task: LoadTask, didReach step: LoadStep) { delegate?.loadTask(task, didReach: step) }
    func loadTaskDidSend(_ task: LoadTask) { delegate?.loadTaskDidSend(task) }
    func loadTask(
        _ task: LoadTask, willRedirectTo request: Request, response: Response, decide: @escaping @Sendable (RedirectDecision) -> Void
    ) {
        decider.loadTask(task, willRedirectTo: request, response: response, decide: decide)
    }
    func loadTask(_ task: LoadTask, didReceive challenge: AuthenticationChallenge) { decider.loadTask(task, didReceive: challenge) }
    func loadTask(_ task: LoadTask, didCancel challenge: AuthenticationChallenge) { delegate?.loadTask(task, didCancel: challenge) }
    func loadTask(_ task: LoadTask, needsNewBody answer: @escaping @Sendable (Body?) -> Void) {
        decider.loadTask(task, needsNewBody: answer)
    }
    func loadTask(_ task: LoadTask, didBegin inner: LoadTask) { delegate?.loadTask(task, didBegin: inner) }
    func loadTask(_ task: LoadTask, inner: LoadTask, didEndWith error: LoadError?) {
        delegate?.loadTask(task, inner: inner, didEndWith: error)
    }
}
