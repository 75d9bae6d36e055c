// SPDX-License-Identifier: Apache-2.0

import Synchronization

/// The registered handlers. The handler that was registered last has precedence.
///
/// Can be used on any thread. A look-up uses an immutable snapshot and holds no lock while it calls handlers, so a
/// handler may register another one during that call. Handlers that declare their schemes are found through an index,
/// so the cost does not grow with the number of handlers for other schemes.
public final class ProtocolRegistry: Sendable {
    private struct State {
        /// Oldest first.
        var entries: [RegistryIndex.Entry] = []
        var nextNumber: RegistrationNumber = 0
        /// `nil` after a change. The next look-up makes the index, so that many registrations do not each make one.
        var index: RegistryIndex?

        mutating func makeRegistrationNumber() -> RegistrationNumber {
            defer { nextNumber += 1 }
            return nextNumber
        }
    }

    private let state = Mutex(State())
    /// Lets a look-up skip an empty registry without the lock. The registry of a loader's own handlers is often empty.
    private let isEmpty = Atomic(true)

    public init() {}

    /// Changes the entries, and invalidates the index.
    private func updateEntries<Result>(_ body: (inout State) -> Result) -> Result {
        state.withLock { state in
            defer {
                state.index = nil
                isEmpty.store(state.entries.isEmpty, ordering: .releasing)
            }
            return body(&state)
        }
    }

    /// Registers `handler` with precedence over all registered handlers.
    @discardableResult
    public func register(_ handler: some ProtocolHandler) -> Registration {
        updateEntries { state in
            let number = state.makeRegistrationNumber()
            state.entries.append(.handler(RegisteredHandler(handler, registration: number)))
            return Registration(number: number)
        }
    }

    /// Registers handlers that `provider` makes when the first request with one of its schemes comes. They have
    /// precedence over all handlers that are registered now.
    @discardableResult
    package func register(deferred provider: some HandlerProvider) -> Registration {
        updateEntries { state in
            let number = state.makeRegistrationNumber()
            state.entries.append(.deferred(LazyHandlers(provider, registration: number, in: self)))
            return Registration(number: number)
        }
    }

    /// Removes the handlers of a registration: they serve no new requests. Running loads continue.
    ///
    /// - Returns: an object that reports when the last running load has ended.
    @discardableResult
    public func unregister(_ registration: Registration) -> HandlerDrain {
        let removedHandlers = updateEntries { state -> [RegisteredHandler] in
            let (removed, remaining) = state.entries.partitioned { $0.registration == registration.number }
            state.entries = remaining
            return removed.compactMap { if case .handler(let entry) = $0 { entry } else { nil } }
        }
        for entry in removedHandlers { entry.retire() }
        return HandlerDrain(entries: removedHandlers)
    }

    /// Replaces the handlers of a registration, or the provider that would make them. New loads use the new handlers,
    /// and running loads continue with the old handlers. A look-up during the replacement finds either the old or the
    /// new handlers.
    ///
    /// - Parameters:
    ///   - registration: the result of ``register(_:)``.
    ///   - handlers: the new handlers, in the order of their registration: the last one has precedence.
    /// - Returns: an object that reports when the last load of the old handlers has ended, and that retains them until
    ///   it is released; `nil` if the registration was removed, so that nothing was replaced.
    @discardableResult
    package func replace(_ registration: Registration, with handlers: [any ProtocolHandler]) -> HandlerDrain? {
        let removedHandlers = updateEntries { state -> [RegisteredHandler]? in
            guard let index = state.entries.firstIndex(where: { $0.registration == registration.number }) else { return nil }
            let (removed, remaining) = state.entries.partitioned { $0.registration == registration.number }
            let entries = handlers.map { RegistryIndex.Entry.handler(RegisteredHandler($0, registration: registration.number)) }
            state.entries = remaining
            state.entries.insert(contentsOf: entries, at: index)
            return removed.compactMap { if case .handler(let entry) = $0 { entry } else { nil } }
        }
        guard let removedHandlers else { return nil }
        for entry in removedHandlers { entry.retire() }
        return HandlerDrain(entries: removedHandlers)
    }

    func contains(_ deferred: LazyHandlers) -> Bool {
        state.withLock { state in state.entries.contains { $0.isPlaceholder(for: deferred) } }
    }

    /// Replaces a provider's entry by the handlers that it made. Has no effect if the registration was removed before.
    func replace(_ deferred: LazyHandlers, with handlers: [any ProtocolHandler]) {
        updateEntries { state in
            guard let index = state.entries.firstIndex(where: { $0.isPlaceholder(for: deferred) }) else { return }
            let entries = handlers.map { RegistryIndex.Entry.handler(RegisteredHandler($0, registration: deferred.registration)) }
            state.entries.replaceSubrange(index...index, with: entries)
        }
    }

    /// The registered handlers in order of precedence, except deferred handlers that are not made yet.
    public var handlers: [any ProtocolHandler] {
        state.withLock { state in
            state.entries.reversed().compactMap { if case .handler(let entry) = $0 { entry.handler } else { nil } }
        }
    }

    /// The schemes that the handlers declare, in lexical order.
    public var schemes: [String] {
        snapshot().schemes
    }

    /// Does what ``RegistryIndex/find(_:excluding:)`` does, with a snapshot that is not stale.
    func find(_ request: Request, excluding failedHandlers: [LazyHandlers]) -> RegistryIndex.LookUpResult? {
        while !isEmpty.load(ordering: .acquiring) {
            // If the snapshot is stale, the next one does not contain the removed handler: a handler is retired only
            // after the entries have changed.
            do throws(RegistryIndex.StaleIndexError) { return try snapshot().find(request, excluding: failedHandlers) } catch {}
        }
        return nil
    }

    package func snapshot() -> RegistryIndex {
        state.withLock { state in
            if let index = state.index { return index }
            let index = RegistryIndex(state.entries)
            state.index = index
            return index
        }
    }
}

typealias RegistrationNumber = UInt64

/// Identifies the handlers of one call of ``ProtocolRegistry/register(_:)``, to remove or replace them.
public struct Registration: Sendable {
    let number: RegistrationNumber
}

extension Array {
    fileprivate func partitioned(by isIncluded: (Element) -> Bool) -> (included: [Element], others: [Element]) {
        reduce(into: ([], [])) { parts, element in
            if isIncluded(element) { parts.0.append(element) } else { parts.1.append(element) }
        }
    }
}
