// SPDX-License-Identifier: Apache-2.0

import Synchronization

/// The handlers, in order of precedence: the last registered first.
///
/// Any thread. A look-up uses an immutable snapshot and holds no lock while it calls handlers, so a handler may
/// register another one during that call. Handlers that name their schemes are found through an index: the cost does
/// not grow with the number of handlers for other schemes.
public final class ProtocolRegistry: Sendable {
    private struct State {
        /// Oldest first.
        var places: [RegistryIndex.Entry] = []
        var nextNumber: RegistrationNumber = 0
        /// Made when first needed after a change, so that many registrations do not each build an index.
        var index: RegistryIndex?

        mutating func number() -> RegistrationNumber {
            defer { nextNumber += 1 }
            return nextNumber
        }
    }

    private let state = Mutex(State())
    /// Lets the look-up of a loader without its own handlers skip the registry without taking the lock.
    private let isEmpty = Atomic(true)

    public init() {}

    /// Changes the entries, and invalidates the index.
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

    /// Puts deferred handlers in front of all others. `source` makes them when the first request with one of its
    /// schemes comes, and they take its place.
    @discardableResult
    package func register(deferred source: some HandlerProvider) -> Registration {
        change { state in
            let number = state.number()
            state.places.append(.deferred(LazyHandlers(source, registration: number, in: self)))
            return Registration(number: number)
        }
    }

    /// Removes a handler: it receives no new loads. Running loads continue. The result reports when the last one has
    /// ended.
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

    /// Replaces the handlers of a registration, or the source that would make them. New loads use the new handlers, and
    /// running loads continue with the old ones. At no time does a look-up find the place empty.
    ///
    /// - Parameters:
    ///   - registration: the result of ``register(_:)``.
    ///   - handlers: in the order in which they are to be registered: the last one has precedence.
    /// - Returns: an object that reports when the last load of the old handlers has ended, and retains them until it is
    ///   released; `nil` if the registration was removed, and nothing was done.
    @discardableResult
    package func replace(_ registration: Registration, with handlers: [any ProtocolHandler]) -> HandlerDrain? {
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

    /// Replaces deferred handlers by those that were made. Has no effect if the registration was removed meanwhile.
    func replace(_ deferred: LazyHandlers, with handlers: [any ProtocolHandler]) {
        change { state in
            guard let index = state.places.firstIndex(where: { $0.isHeld(by: deferred) }) else { return }
            let entries = handlers.map { RegistryIndex.Entry.handler(RegisteredHandler($0, registration: deferred.registration)) }
            state.places.replaceSubrange(index...index, with: entries)
        }
    }

    /// Every registered handler, newest first, except those that are not made yet.
    public var handlers: [any ProtocolHandler] {
        state.withLock { state in
            state.places.reversed().compactMap { if case .handler(let entry) = $0 { entry.handler } else { nil } }
        }
    }

    /// The schemes that handlers declare, in lexical order.
    public var schemes: [String] {
        snapshot().schemes
    }

    /// Returns the result of ``RegistryIndex/find(_:excluding:)`` of a snapshot that is not stale.
    func find(_ request: Request, excluding failed: [LazyHandlers]) -> RegistryIndex.Finding? {
        while !isEmpty.load(ordering: .acquiring) {
            // A handler is retired after the entries have changed, so the next snapshot does not contain it.
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

/// The place of a handler in a registry, or of several handlers that are made together.
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
