// SPDX-License-Identifier: Apache-2.0

/// What a stage of the client chain may ask of the task that it works for.
package protocol LoadTaskControl: AnyObject, Sendable {
    /// The request of the attempt that runs.
    var currentRequest: Request { get }

    /// Ends the running attempt and starts one for `request`, as soon as the handler's call has returned.
    ///
    /// - Parameter wasDeferred: the handler was told to wait for the decision.
    func follow(_ request: Request, wasDeferred: Bool)

    /// Asks the caller what to do about a redirect.
    ///
    /// - Parameter decide: to be called once, now or later; where it is let go of without a call, the redirect is followed.
    func ask(_ proposed: Request, _ response: Response, decide: @escaping @Sendable (RedirectDecision) -> Void)

    /// A redirect whose decision was put off is not taken.
    func declineRedirect()

    /// The caller was asked something, or has answered: meanwhile no idle time passes.
    func isAwaitingCaller(_ isAsked: Bool)

    /// Ends the load: the caller hears `error`.
    func end(with error: LoadError)
}
