// SPDX-License-Identifier: Apache-2.0

import Synchronization

/// Makes handlers when a request first needs them. For example, the handlers of a plugin are made after its library has
/// been opened.
package protocol HandlerProvider: Sendable {
    /// A name in reverse DNS notation. The reports of failures to make the handlers contain it.
    var identifier: String { get }
    /// The schemes that the handlers will serve. The first request with one of these schemes makes the handlers.
    var schemes: SchemeSet { get }

    /// Makes the handlers, in the order of their registration: the last one has precedence.
    ///
    /// May take a long time. Called on a thread of a pool, and never concurrently. After a failure, called again when
    /// the next request needs the handlers.
    func makeHandlers() throws(LoadError) -> [any ProtocolHandler]
}

/// A provider's entry in a registry, until its handlers replace the entry.
package final class LazyHandlers: Sendable {
    package let provider: any HandlerProvider
    let registration: RegistrationNumber
    /// A weak reference, because the registry retains this object.
    private let registry: Mutex<Weak>

    private struct Weak {
        weak var registry: ProtocolRegistry?
    }

    package typealias Outcome = Result<Void, LoadError>
    private typealias Waiter = @Sendable (Outcome) -> Void

    /// The callbacks that wait while the handlers are being made; `nil` at other times.
    private let waiters = Mutex([Waiter]?.none)

    init(_ provider: any HandlerProvider, registration: RegistrationNumber, in registry: ProtocolRegistry) {
        self.provider = provider
        self.registration = registration
        self.registry = Mutex(Weak(registry: registry))
    }

    /// Makes the handlers, replaces this entry by them, and then calls `completion` on another thread. If no thread is
    /// available, calls `completion` with the error on this thread.
    package func resolve(then completion: @escaping @Sendable (Outcome) -> Void) {
        let isFirst = waiters.withLock { waiters in
            defer { waiters = (waiters ?? []) + [completion] }
            return waiters == nil
        }
        guard isFirst else { return }
        do throws(LoadError) {
            // `isNested`, so that the thread limit does not apply: the loads on the limited threads can wait for these
            // handlers.
            try LoadThreadPool.shared.run(isNested: true) { [self] in finish(make()) }
        } catch {
            finish(.failure(error))
        }
    }

    /// Does what ``resolve(then:)`` does, and waits for the result. Must not be called on event loops.
    package func resolve() throws(LoadError) {
        let result = ConditionLock(Outcome?.none)
        resolve { outcome in result.withLockBroadcasting { $0 = outcome } }
        try result.wait { $0 }.get()
    }

    private func make() -> Outcome {
        // A look-up can have found this entry before its handlers replaced it. They must not be made again.
        guard let registry = registry.withLock({ $0.registry }), registry.contains(self) else { return .success(()) }
        do throws(LoadError) {
            registry.replace(self, with: try provider.makeHandlers())
            return .success(())
        } catch {
            return .failure(error)
        }
    }

    private func finish(_ outcome: Outcome) {
        let waiters = waiters.withLock { $0.take() ?? [] }
        Self.notify(waiters[...], outcome)
    }

    /// Calls the waiters. Before each call, passes the other waiters to another thread, because a waiter can take a
    /// long time or wait for what another waiter does.
    private static func notify(_ waiters: ArraySlice<Waiter>, _ outcome: Outcome) {
        var waiters = waiters
        while let first = waiters.popFirst() {
            let others = waiters
            if !others.isEmpty {
                // If no thread is available, the other waiters are called afterwards on this thread.
                do throws(LoadError) {
                    try LoadThreadPool.shared.run(isNested: true) { notify(others, outcome) }
                    waiters = []
                } catch {}
            }
            first(outcome)
        }
    }

    /// The message of the last failure that was reported.
    private let lastFailureMessage = Mutex(String?.none)

    /// Stores the failure's message.
    ///
    /// - Returns: whether the message differs from the message of the last failure.
    func recordFailure(_ error: LoadError) -> Bool {
        lastFailureMessage.withLock { message in
            defer { message = error.message }
            return message != error.message
        }
    }
}
