// SPDX-License-Identifier: Apache-2.0

/// What one handler decided about a request.
package struct HandlerCandidate: Hashable, Sendable {
    package enum Refusal: Hashable, Sendable {
        /// `canInit` returned `false`.
        case cannotInit
        /// The handler issued this request itself, and may not serve it.
        case ownRequest
        /// The handler could not be made, for example because a plugin's library does not open. The message states the
        /// reason.
        case unavailable(String)

        /// The reason as text for a message, after the handler's name.
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
    /// `nil` if the handler takes the request.
    package let refusal: Refusal?
}
