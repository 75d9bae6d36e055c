// SPDX-License-Identifier: Apache-2.0

/// An immutable picture of a registry, by scheme.
package final class RegistryIndex: Sendable {
    /// What stands in one place of a registry.
    enum Place: Sendable {
        case handler(RegisteredHandler)
        case deferred(DeferredHandlers)
    }

    private struct Candidate {
        let place: Place
        /// Higher is newer.
        let order: Int
    }

    /// Newest first.
    private let byScheme: [String: [Candidate]]
    private let ofAnyScheme: [Candidate]
    package let schemes: [String]

    /// - Parameter places: oldest first.
    init(_ places: [Place]) {
        var byScheme: [String: [Candidate]] = [:]
        var ofAnyScheme: [Candidate] = []
        for (order, place) in places.enumerated().reversed() {
            let candidate = Candidate(place: place, order: order)
            switch place.schemes {
            case .any: ofAnyScheme.append(candidate)
            case .only(let schemes): for scheme in Set(schemes.map { $0.lowercased() }) { byScheme[scheme, default: []].append(candidate) }
            }
        }
        self.byScheme = byScheme
        self.ofAnyScheme = ofAnyScheme
        schemes = byScheme.keys.sorted()
    }

    /// What a look-up comes to.
    package enum Finding {
        /// This handler takes the request, and was counted in (``RegisteredHandler/beginLoad()``).
        case handler(RegisteredHandler)
        /// These have to be made before anybody can say more.
        case deferred(DeferredHandlers)
    }

    /// The handler that takes a request was taken out since: another one may have its place, so a newer picture has to be looked at.
    struct Outdated: Error {}

    /// The first handler that takes `request`, or the handlers that have to be made first.
    ///
    /// - Parameter failed: those that could not be made, and are passed over.
    func find(_ request: Request, passing failed: [DeferredHandlers] = []) throws(Outdated) -> Finding? {
        var finding: Finding?
        var isOutdated = false
        candidates(for: request) { place in
            switch place {
            case .handler(let entry):
                guard Self.refusal(of: entry.handler, for: request) == nil else { return false }
                if entry.beginLoad() { finding = .handler(entry) } else { isOutdated = true }
            case .deferred(let deferred):
                if failed.contains(where: { $0 === deferred }) { return false }
                finding = .deferred(deferred)
            }
            return true
        }
        if isOutdated { throw Outdated() }
        return finding
    }

    /// The handlers that a look-up for `request` comes to, each with what it answers, up to the one that takes it or has to be made.
    package func explain(_ request: Request, failed: [(DeferredHandlers, LoadError)]) -> (asked: [Consultation], needed: DeferredHandlers?)
    {
        var consultations: [Consultation] = []
        var needed: DeferredHandlers?
        candidates(for: request) { place in
            switch place {
            case .handler(let entry):
                let refusal = Self.refusal(of: entry.handler, for: request)
                consultations.append(Consultation(handler: entry.handler.identifier, schemes: entry.handler.schemes, refusal: refusal))
                return refusal == nil
            case .deferred(let deferred):
                guard let (_, error) = failed.first(where: { $0.0 === deferred }) else {
                    needed = deferred
                    return true
                }
                consultations.append(
                    Consultation(handler: deferred.source.identifier, schemes: place.schemes, refusal: .unavailable(error.message)))
                return false
            }
        }
        return (consultations, needed)
    }

    private static func refusal(of handler: any ProtocolHandler, for request: Request) -> Consultation.Refusal? {
        // CAN-09
        let isMarked = request.marks.contains { $0.handler == handler.identifier && $0.url == request.url }
        if isMarked { return .ownRequest }
        return handler.canInit(request) ? nil : .cannotInit
    }

    /// Offers the places of the request's scheme and those of any scheme, newest first, until `accepts` says yes. No other is asked: CAN-02.
    private func candidates(for request: Request, _ accepts: (Place) -> Bool) {
        let named = byScheme[request.scheme] ?? []
        var (i, j) = (0, 0)
        while i < named.count || j < ofAnyScheme.count {
            let takesNamed = j == ofAnyScheme.count || (i < named.count && named[i].order > ofAnyScheme[j].order)
            let candidate = takesNamed ? named[i] : ofAnyScheme[j]
            if takesNamed { i += 1 } else { j += 1 }
            if accepts(candidate.place) { return }
        }
    }
}

extension RegistryIndex.Place {
    var schemes: SchemeSet {
        switch self {
        case .handler(let entry): entry.handler.schemes
        case .deferred(let deferred): deferred.source.schemes
        }
    }

    func isHeld(by deferred: DeferredHandlers) -> Bool {
        if case .deferred(let other) = self { other === deferred } else { false }
    }

    var registration: RegistrationNumber {
        switch self {
        case .handler(let entry): entry.registration
        case .deferred(let deferred): deferred.registration
        }
    }
}
