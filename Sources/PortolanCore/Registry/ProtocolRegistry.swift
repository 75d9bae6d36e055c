// SPDX-License-Identifier: Apache-2.0

import Synchronization

/// The handlers, in the order in which they are asked: the last registered first.
///
/// Any thread. A look-up works on an immutable snapshot and holds no lock while it asks, so a handler may register another while it is asked.
/// Handlers that name their schemes are found through an index: the cost does not grow with the number of handlers of other schemes.
public final class ProtocolRegistry: Sendable {
    private struct State {
        /// Oldest first.
        var places: [RegistryIndex.Entry] = []
        var nextNumber: RegistrationNumber = 0
        /// Made when first needed after a change, so that registering many costs no index for each.
        var index: RegistryIndex?

        mutating func number() -> RegistrationNumber {
            defer { nextNumber += 1 }
            return nextNumber
        }
    }

    private let state = Mutex(State())
    /// So that the look-up of a loader without handlers of its own passes them over without the lock.
    private let isEmpty = Atomic(true)

    public init() {}

    /// Changes the places.
    private func change<Result>(_ body: (inout State) -> Result) -> Result {
        state.withLock { state in
            defer {
                state.index = nil
                isEmpty.store(state.places.isEmpty, ordering: .releasing)
            }
            return body(&state)
        }
    }

    /// Puts `handler` in front of all others.
    @discardableResult
    public func register(_ handler: some ProtocolHandler) -> Registration {
        change { state in
            let number = state.number()
            state.places.append(.handler(RegisteredHandler(handler, registration: number)))
            return Registration(number: number)
        }
    }

    /// Puts handlers that are not made yet in front of all others: `source` makes them when a request of its schemes first comes, and they take its
    /// place.
    @discardableResult
    public func register(deferred source: some HandlerProvider) -> Registration {
        change { state in
            let number = state.number()
            state.places.append(.deferred(LazyHandlers(source, registration: number, in: self)))
            return Registration(number: number)
        }
    }

    /// Takes a handler out: new loads no longer come to it. Running loads go on; the answer tells when the last has ended.
    @discardableResult
    public func unregister(_ registration: Registration) -> HandlerDrain {
        let retired = change { state -> [RegisteredHandler] in
            let (leaving, staying) = state.places.partitioned { $0.registration == registration.number }
            state.places = staying
            return leaving.compactMap { if case .handler(let entry) = $0 { entry } else { nil } }
        }
        for entry in retired { entry.retire() }
        return HandlerDrain(entries: retired)
    }

    /// Puts `handlers` in the place of those that have it, or of those that were to be made for it: new loads come to the new ones, running loads go on
    /// with the old, and no look-up finds the place empty.
    ///
    /// - Parameters:
    ///   - registration: the place, as ``register(_:)`` gave it.
    ///   - handlers: in the order in which they are to be registered, so that the last is asked first.
    /// - Returns: when the last load of the old ones has ended, and it holds them until it is let go; `nil` where the place was taken out, and nothing
    ///   was done.
    @discardableResult
    public func replace(_ registration: Registration, with handlers: [any ProtocolHandler]) -> HandlerDrain? {
        let retired = change { state -> [RegisteredHandler]? in
            guard let index = state.places.firstIndex(where: { $0.registration == registration.number }) else { return nil }
            let (leaving, staying) = state.places.partitioned { $0.registration == registration.number }
            let entries = handlers.map { RegistryIndex.Entry.handler(RegisteredHandler($0, registration: registration.number)) }
            state.places = staying
            state.places.insert(contentsOf: entries, at: index)
            return leaving.compactMap { if case .handler(let entry) = $0 { entry } else { nil } }
        }
        guard let retired else { return nil }
        for entry in retired { entry.retire() }
        return HandlerDrain(entries: retired)
    }

    func holds(_ deferred: LazyHandlers) -> Bool {
        state.withLock { state in state.places.contains { $0.isHeld(by: deferred) } }
    }

    /// Puts handlers in the place of those that were to be made; nowhere, where that was unregistered meanwhile.
    func replace(_ deferred: LazyHandlers, with handlers: [any ProtocolHandler]) {
        change { state in
            guard let index = state.places.firstIndex(where: { $0.isHeld(by: deferred) }) else { return }
            let entries = handlers.map { RegistryIndex.Entry.handler(RegisteredHandler($0, registration: deferred.registration)) }
            state.places.replaceSubrange(index...index, with: entries)
        }
    }

    /// Every registered handler, newest first, but those that are not made yet.
    public var handlers: [any ProtocolHandler] {
        state.withLock { state in
            state.places.reversed().compactMap { if case .handler(let entry) = $0 { entry.handler } else { nil } }
        }
    }

    /// The schemes that handlers declare, in lexical order.
    public var schemes: [String] {
        snapshot().schemes
    }

    /// As ``RegistryIndex/find(_:excluding:)`` of a snapshot that is not outdated.
    func find(_ request: Request, excluding failed: [LazyHandlers]) -> RegistryIndex.Finding? {
        while !isEmpty.load(ordering: .acquiring) {
            // A handler is retired after the places have changed, so the next snapshot does not have it.
            do throws(RegistryIndex.StaleIndexError) { return try snapshot().find(request, excluding: failed) } catch {}
        }
        return nil
    }

    package func snapshot() -> RegistryIndex {
        state.withLock { state in
            if let index = state.index { return index }
            let index = RegistryIndex(state.places)
            state.index = index
            return index
        }
    }
}

typealias RegistrationNumber = UInt64

/// A handler's place in a registry, or that of several that are made together.
public struct Registration: Sendable {
    let number: RegistrationNumber
}

extension Array {
    fileprivate func partitioned(by belongs: (Element) -> Bool) -> (belonging: [Element], others: [Element]) {
        reduce(into: ([], [])) { parts, element in
            if belongs(element) { parts.0.append(element) } else { parts.1.append(element) }
        }
    }
}
