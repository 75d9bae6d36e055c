// SPDX-License-Identifier: Apache-2.0

package import HTTPTypes

/// A policy between a task and its handlers, such as cookies. It changes a request before a handler receives it, and
/// observes the events of the load.
package protocol LoadPolicy: Sendable {
    /// Changes the request, and returns the client for the load's events.
    ///
    /// The client must forward all events to `next`. A policy that has nothing to do for the request returns `next`.
    ///
    /// The task keeps the unchanged request. A request that the load passes to its client, as in a redirect, must not
    /// contain what the policy added.
    ///
    /// - Parameter log: logs what the policy refuses to do, without secrets; `nil` if nothing is logged.
    func apply(to request: inout Request, next: any ProtocolClient, log: (@Sendable (String) -> Void)?) -> any ProtocolClient

    /// The fields that the request has after ``apply(to:next:log:)``.
    func fieldsAsSent(_ request: Request) -> HTTPFields
}
