// SPDX-License-Identifier: Apache-2.0

import Synchronization

/// The handlers, in the order in which they are asked: the last registered first.
///
/// Any thread. A look-up works on an immutable snapshot and holds no lock while it asks, so a handler may register another while it is asked.
/// Handlers that name their schemes are found through an index: the cost does not grow with the number of handlers of other schemes.
public final class ProtocolRegistry: Sendable {
    private struct State {
        var entries: [RegisteredHandler] = []
        var nextOrder = 0
        /// Made when first needed after a change, so that registering many costs no index for each.
        var index: RegistryIndex?
    }

    private let state = Mutex(State())

    public init() {}

    /// Puts `handler` in front of all others.
    @discardableResult
    public func register(_ handler: some ProtocolHandler) -> Registration {
        state.withLock { state in
            let entry = RegisteredHandler(handler, order: state.nextOrder)
            state.nextOrder += 1
            state.entries.append(entry)
            state.index = nil
            return Registration(entry: entry)
        }
    }

    /// Takes a handler out: new loads no longer come to it. Running loads go on; the answer tells when the last has ended.
    @discardableResult
    public func unregister(_ registration: Registration) -> Retirement {
        state.withLock { state in
            state.entries.removeAll { $0 === registration.entry }
            state.index = nil
        }
        registration.entry.retire()
        return Retirement(entry: registration.entry)
    }

    /// Every registered handler, newest first.
    public var handlers: [any ProtocolHandler] {
        state.withLock { $0.entries.reversed().map(\.handler) }
    }

    /// The schemes that handlers declare, in lexical order.
    public var schemes: [String] {
        snapshot().schemes
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

/// A handler's place in a registry.
public struct Registration: Sendable {
    let entry: RegisteredHandler
}

/// Tells when the last load of a handler that was taken out has ended.
public struct Retirement: Sendable {
    let entry: RegisteredHandler

    public var isFinished: Bool { entry.isIdleForGood }

    /// Calls `body` once, when the last load has ended; at once, if it has already. On the thread of that load's end.
    public func whenFinished(_ body: @escaping @Sendable () -> Void) {
        entry.whenIdleForGood(body)
    }

    public func finished() async {
        await withCheckedContinuation { continuation in
            whenFinished { continuation.resume() }
        }
    }
}
