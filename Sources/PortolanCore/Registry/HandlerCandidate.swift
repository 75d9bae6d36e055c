// SPDX-License-Identifier: Apache-2.0

/// What one handler said when it was asked for a request.
public struct HandlerCandidate: Hashable, Sendable {
    public enum Refusal: Hashable, Sendable {
        /// `canInit` answered no.
        case cannotInit
        /// The handler issued this request itself, and is not asked for it again.
        case ownRequest
        /// The handler could not be made, as when a plugin's library does not open; the message says why.
        case unavailable(String)

        /// For a message, after the handler's name.
        var reason: String {
            switch self {
            case .cannotInit: "refused it"
            case .ownRequest: "is the handler that asks for it, and is not asked for its own request"
            case .unavailable(let message): "is not available: \(message)"
            }
        }
    }

    public let handler: String
    public let schemes: SchemeSet
    /// `nil`: the handler takes the request.
    public let refusal: Refusal?
}
