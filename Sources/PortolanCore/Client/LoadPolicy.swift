// SPDX-License-Identifier: Apache-2.0

/// A policy between a task and the handlers that serve it, such as cookies: it changes a request before a handler gets
/// it, and sees the events of the load.
package protocol LoadPolicy: Sendable {
    /// Changes the request, and returns the client for the load's events. It forwards them to `next`; or it is `next`,
    /// if the policy has nothing to do for the request.
    ///
    /// The task keeps the request as it was. A request that leaves the load again, as in a redirect, must not have what
    /// the policy added.
    func apply(to request: inout Request, next: any ProtocolClient) -> any ProtocolClient
}
