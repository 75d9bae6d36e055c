// SPDX-License-Identifier: Apache-2.0

/// What a stage of the client chain can request from its task.
package protocol LoadTaskControl: AnyObject, Sendable {
    /// The request of the running handler load.
    var currentRequest: Request { get }

    /// Ends the running handler load and starts one for `request`, as soon as the handler's call has returned.
    ///
    /// - Parameter wasDeferred: whether the handler waits for the decision.
    func follow(_ request: Request, wasDeferred: Bool)

    /// Requests the caller's decision about a redirect.
    ///
    /// - Parameter decide: must be called once, immediately or later. If it is released without a call, the redirect is
    ///   followed.
    func ask(_ proposed: Request, _ response: Response, decide: @escaping @Sendable (RedirectDecision) -> Void)

    /// Declines a redirect whose decision was deferred.
    func declineRedirect()

    /// The load starts or stops waiting for the caller. The idle timer is paused while it waits.
    func isAwaitingCaller(_ isAsked: Bool)

    /// Ends the load. The caller receives `error`.
    func end(with error: LoadError)
}
