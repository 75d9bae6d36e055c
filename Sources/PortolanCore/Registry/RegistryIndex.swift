// SPDX-License-Identifier: Apache-2.0

/// An immutable picture of a registry, by scheme.
package final class RegistryIndex: Sendable {
    /// Newest first.
    private let byScheme: [String: [RegisteredHandler]]
    private let ofAnyScheme: [RegisteredHandler]
    package let schemes: [String]

    init(_ entries: [RegisteredHandler]) {
        var byScheme: [String: [RegisteredHandler]] = [:]
        var ofAnyScheme: [RegisteredHandler] = []
        for entry in entries.reversed() {
            switch entry.handler.schemes {
            case .any: ofAnyScheme.append(entry)
            case .only(let schemes): for scheme in Set(schemes.map { $0.lowercased() }) { byScheme[scheme, default: []].append(entry) }
            }
        }
        self.byScheme = byScheme
        self.ofAnyScheme = ofAnyScheme
        schemes = byScheme.keys.sorted()
    }

    /// The first handler that takes `request`, counted in (``RegisteredHandler/beginLoad()``).
    package func handler(for request: Request) -> RegisteredHandler? {
        candidates(for: request) { entry in
            Self.refusal(of: entry.handler, for: request) == nil && entry.beginLoad()
        }
    }

    /// The handlers that a look-up for `request` comes to, each with what it answers, up to the one that takes it.
    package func explain(_ request: Request) -> [Consultation] {
        var consultations: [Consultation] = []
        _ = candidates(for: request) { entry in
            let refusal = Self.refusal(of: entry.handler, for: request)
            consultations.append(Consultation(handler: entry.handler.identifier, schemes: entry.handler.schemes, refusal: refusal))
            return refusal == nil
        }
        return consultations
    }

    private static func refusal(of handler: any ProtocolHandler, for request: Request) -> Consultation.Refusal? {
        let isMarked = request.marks.contains { $0.handler == handler.identifier && $0.url == request.url }
        if isMarked { return .ownRequest }
        return handler.canInit(request) ? nil : .cannotInit
    }

    /// Offers the handlers of the request's scheme and those of any scheme, newest first, until `accepts` says yes.
    private func candidates(for request: Request, _ accepts: (RegisteredHandler) -> Bool) -> RegisteredHandler? {
        let named = byScheme[String(request.url.scheme)] ?? []
        var (i, j) = (0, 0)
        while i < named.count || j < ofAnyScheme.count {
            let takesNamed = j == ofAnyScheme.count || (i < named.count && named[i].order > ofAnyScheme[j].order)
            let entry = takesNamed ? named[i] : ofAnyScheme[j]
            if takesNamed { i += 1 } else { j += 1 }
            if accepts(entry) { return entry }
        }
        return nil
    }
}

/// What one handler said when it was asked for a request.
public struct Consultation: Hashable, Sendable {
    public enum Refusal: String, Hashable, Sendable {
        /// `canInit` answered no.
        case cannotInit
        /// The handler issued this request itself, and is not asked for it again.
        case ownRequest

        /// For a message, after the handler's name.
        var reason: String {
            switch self {
            case .cannotInit: "refused it"
            case .ownRequest: "is the handler that asks for it, and is not asked for its own request"
            }
        }
    }

    public let handler: String
    public let schemes: SchemeSet
    /// `nil`: the handler takes the request.
    public let refusal: Refusal?
}
