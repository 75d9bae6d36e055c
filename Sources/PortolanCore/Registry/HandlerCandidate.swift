// SPDX-License-Identifier: Apache-2.0

/// A handler that a look-up considered for a request, and its decision.
package struct HandlerCandidate: Hashable, Sendable {
    package enum Refusal: Hashable, Sendable {
        /// `canInit` returned `false`.
        case cannotInit
        /// The handler made this request itself (CAN-09), and must not serve it.
        case ownRequest
        /// The handler could not be made, for example because a plugin's library cannot be opened. The message states
        /// the reason.
        case unavailable(String)

        /// The reason as a clause for a message, after the handler's name.
        var reason: String {
            switch self {
            case .cannotInit: "refused it"
            case .ownRequest: "made this request, and a handler does not get its own requests"
            case .unavailable(let message): "is not available: \(message)"
            }
        }
    }

    package let handler: String
    package let schemes: SchemeSet
    /// Why the handler does not serve the request; `nil` if it serves the request.
    package let refusal: Refusal?
}
