// SPDX-License-Identifier: Apache-2.0

/// An immutable snapshot of a registry, by scheme.
package final class RegistryIndex: Sendable {
    /// The content of one place in a registry.
    enum Entry: Sendable {
        case handler(RegisteredHandler)
        case deferred(LazyHandlers)
    }

    private struct Candidate {
        let place: Entry
        /// Higher is newer.
        let order: Int
    }

    /// Newest first.
    private let byScheme: [String: [Candidate]]
    private let ofAnyScheme: [Candidate]
    package let schemes: [String]

    /// - Parameter places: oldest first.
    init(_ places: [Entry]) {
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

    /// The result of a look-up.
    package enum Finding {
        /// This handler takes the request, and counts its load (``RegisteredHandler/beginLoad()``).
        case handler(RegisteredHandler)
        /// These handlers must be made before the look-up can continue.
        case deferred(LazyHandlers)
    }

    /// The handler that takes a request was removed after the snapshot. Another handler may have its place, so a newer
    /// snapshot is needed.
    struct StaleIndexError: Error {}

    /// Returns the first handler that takes `request`, or the handlers that must be made first.
    ///
    /// - Parameter failed: handlers that could not be made, and are skipped.
    func find(_ request: Request, excluding failed: [LazyHandlers] = []) throws(StaleIndexError) -> Finding? {
        var finding: Finding?
        var isOutdated = false
        forEachEntry(for: request) { entry in
            switch entry {
            case .handler(let registered):
                guard Self.refusal(of: registered.handler, for: request) == nil else { return false }
                if registered.beginLoad() { finding = .handler(registered) } else { isOutdated = true }
            case .deferred(let deferred):
                if failed.contains(where: { $0 === deferred }) { return false }
                finding = .deferred(deferred)
            }
            return true
        }
        if isOutdated { throw StaleIndexError() }
        return finding
    }

    /// Returns the handlers that a look-up for `request` reaches, with the decision of each, up to the one that takes
    /// it or must be made.
    package func handlerCandidates(for request: Request, failed: [(LazyHandlers, LoadError)]) -> (
        asked: [HandlerCandidate], needed: LazyHandlers?
    ) {
        var candidates: [HandlerCandidate] = []
        var needed: LazyHandlers?
        forEachEntry(for: request) { entry in
            switch entry {
            case .handler(let registered):
                let refusal = Self.refusal(of: registered.handler, for: request)
                candidates.append(
                    HandlerCandidate(handler: registered.handler.identifier, schemes: registered.handler.schemes, refusal: refusal))
                return refusal == nil
            case .deferred(let deferred):
                guard let (_, error) = failed.first(where: { $0.0 === deferred }) else {
                    needed = deferred
                    return true
                }
                candidates.append(
                    HandlerCandidate(handler: deferred.provider.identifier, schemes: entry.schemes, refusal: .unavailable(error.message)))
                return false
            }
        }
        return (candidates, needed)
    }

    private static func refusal(of handler: any ProtocolHandler, for request: Request) -> HandlerCandidate.Refusal? {
        // CAN-09
        let isMarked = request.visitedHandlers.contains { $0.handler == handler.identifier && $0.url == request.url }
        if isMarked { return .ownRequest }
        return handler.canInit(request) ? nil : .cannotInit
    }

    /// Passes the entries for the request's scheme and for any scheme to `accepts`, newest first, until it returns
    /// `true`. Other entries are not used (CAN-02).
    private func forEachEntry(for request: Request, until accepts: (Entry) -> Bool) {
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

extension RegistryIndex.Entry {
    var schemes: SchemeSet {
        switch self {
        case .handler(let entry): entry.handler.schemes
        case .deferred(let deferred): deferred.provider.schemes
        }
    }

    func isHeld(by deferred: LazyHandlers) -> Bool {
        if case .deferred(let other) = self { other === deferred } else { false }
    }

    var registration: RegistrationNumber {
        switch self {
        case .handler(let entry): entry.registration
        case .deferred(let deferred): deferred.registration
        }
    }
}
