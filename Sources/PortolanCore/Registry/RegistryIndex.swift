// SPDX-License-Identifier: Apache-2.0

/// An immutable snapshot of a registry, which finds handlers by scheme.
package final class RegistryIndex: Sendable {
    /// An entry of a registry.
    enum Entry: Sendable {
        case handler(RegisteredHandler)
        case deferred(LazyHandlers)
    }

    private struct IndexedEntry {
        let entry: Entry
        /// The entry's position in the registry. A newer entry has a greater one.
        let position: Int
    }

    /// The entries for each scheme, newest first.
    private let entriesByScheme: [String: [IndexedEntry]]
    /// The entries for any scheme, newest first.
    private let entriesForAnyScheme: [IndexedEntry]
    package let schemes: [String]

    /// - Parameter entries: oldest first.
    init(_ entries: [Entry]) {
        var entriesByScheme: [String: [IndexedEntry]] = [:]
        var entriesForAnyScheme: [IndexedEntry] = []
        for (position, entry) in entries.enumerated().reversed() {
            let indexed = IndexedEntry(entry: entry, position: position)
            switch entry.schemes {
            case .any: entriesForAnyScheme.append(indexed)
            case .only(let schemes):
                for scheme in Set(schemes.map { $0.lowercased() }) { entriesByScheme[scheme, default: []].append(indexed) }
            }
        }
        self.entriesByScheme = entriesByScheme
        self.entriesForAnyScheme = entriesForAnyScheme
        schemes = entriesByScheme.keys.sorted()
    }

    /// The result of a look-up.
    package enum LookUpResult {
        /// This handler serves the request. The look-up has counted the load (``RegisteredHandler/beginLoad()``).
        case handler(RegisteredHandler)
        /// These handlers must be made before the look-up can continue.
        case deferred(LazyHandlers)
    }

    /// The handler that accepts the request was removed after the snapshot. The look-up must be repeated with a newer
    /// snapshot.
    struct StaleIndexError: Error {}

    /// Returns the first handler that accepts `request`, or the handlers that must be made before the look-up can
    /// continue.
    ///
    /// - Parameter failedHandlers: the handlers that could not be made. They are skipped.
    func find(_ request: Request, excluding failedHandlers: [LazyHandlers] = []) throws(StaleIndexError) -> LookUpResult? {
        var result: LookUpResult?
        var isStale = false
        forEachEntry(for: request) { entry in
            switch entry {
            case .handler(let registered):
                guard Self.refusal(of: registered.handler, for: request) == nil else { return false }
                if registered.beginLoad() { result = .handler(registered) } else { isStale = true }
            case .deferred(let deferred):
                if failedHandlers.contains(where: { $0 === deferred }) { return false }
                result = .deferred(deferred)
            }
            return true
        }
        if isStale { throw StaleIndexError() }
        return result
    }

    /// Returns the handlers that a look-up for `request` considers, with the decision of each, up to the handler that
    /// accepts the request or must be made.
    package func handlerCandidates(for request: Request, unavailableHandlers: [(LazyHandlers, LoadError)]) -> (
        candidates: [HandlerCandidate], unresolved: LazyHandlers?
    ) {
        var candidates: [HandlerCandidate] = []
        var unresolved: LazyHandlers?
        forEachEntry(for: request) { entry in
            switch entry {
            case .handler(let registered):
                let refusal = Self.refusal(of: registered.handler, for: request)
                candidates.append(
                    HandlerCandidate(handler: registered.handler.identifier, schemes: registered.handler.schemes, refusal: refusal))
                return refusal == nil
            case .deferred(let deferred):
                guard let (_, error) = unavailableHandlers.first(where: { $0.0 === deferred }) else {
                    unresolved = deferred
                    return true
                }
                candidates.append(
                    HandlerCandidate(handler: deferred.provider.identifier, schemes: entry.schemes, refusal: .unavailable(error.message)))
                return false
            }
        }
        return (candidates, unresolved)
    }

    private static func refusal(of handler: any ProtocolHandler, for request: Request) -> HandlerCandidate.Refusal? {
        // CAN-09
        let isOwnRequest = request.visitedHandlers.contains { $0.handler == handler.identifier && $0.url == request.url }
        if isOwnRequest { return .ownRequest }
        return handler.canInit(request) ? nil : .cannotInit
    }

    /// Calls `accepts` with each entry for the request's scheme or for any scheme, newest first, until it returns
    /// `true`. Entries for other schemes are skipped (CAN-02).
    private func forEachEntry(for request: Request, until accepts: (Entry) -> Bool) {
        let entriesForScheme = entriesByScheme[request.scheme] ?? []
        var (schemeIndex, anyIndex) = (0, 0)
        while schemeIndex < entriesForScheme.count || anyIndex < entriesForAnyScheme.count {
            let isForScheme =
                anyIndex == entriesForAnyScheme.count
                || (schemeIndex < entriesForScheme.count && entriesForScheme[schemeIndex].position > entriesForAnyScheme[anyIndex].position)
            let next = isForScheme ? entriesForScheme[schemeIndex] : entriesForAnyScheme[anyIndex]
            if isForScheme { schemeIndex += 1 } else { anyIndex += 1 }
            if accepts(next.entry) { return }
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

    /// Whether this is the entry of `deferred`.
    func isPlaceholder(for deferred: LazyHandlers) -> Bool {
        if case .deferred(let other) = self { other === deferred } else { false }
    }

    var registration: RegistrationNumber {
        switch self {
        case .handler(let entry): entry.registration
        case .deferred(let deferred): deferred.registration
        }
    }
}
