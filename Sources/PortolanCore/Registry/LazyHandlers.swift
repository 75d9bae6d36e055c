// SPDX-License-Identifier: Apache-2.0

import Synchronization

/// Makes handlers when a request first needs them. For example, a plugin's handlers are made when its library is
/// opened.
package protocol HandlerProvider: Sendable {
    /// A reverse DNS name. Failures are reported under this name if the handlers cannot be made.
    var identifier: String { get }
    /// The schemes that its handlers will serve. No handler is made before the first request with one of these schemes.
    var schemes: SchemeSet { get }

    /// Makes the handlers, in the order in which they are to be registered: the last one has precedence.
    ///
    /// May take a long time. Called on its own thread, and never concurrently. After a failure, called again when the
    /// next request needs the handlers.
    func makeHandlers() throws(LoadError) -> [any ProtocolHandler]
}

/// A provider's entry in a registry, until its handlers replace the entry.
package final class LazyHandlers: Sendable {
    package let source: any HandlerProvider
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

    init(_ source: any HandlerProvider, registration: RegistrationNumber, in registry: ProtocolRegistry) {
        self.source = source
        self.registration = registration
        self.registry = Mutex(Weak(registry: registry))
    }

    /// Makes the handlers and puts them into this entry's place, then calls `body` on another thread.
    package func resolve(then body: @escaping @Sendable (Outcome) -> Void) {
        let isFirst = waiters.withLock { waiters in
            defer { waiters = (waiters ?? []) + [body] }
            return waiters == nil
        }
        guard isFirst else { return }
        do throws(LoadError) {
            // Beyond the thread limit, because a caller that waits here must not wait for loads that wait for these
            // handlers.
            try LoadThreadPool.shared.run(isNested: true) { [self] in finish(make()) }
        } catch {
            finish(.failure(error))
        }
    }

    /// Does what ``resolve(then:)`` does, and blocks until it is done. Must not be called on event loops.
    package func resolve() throws(LoadError) {
        let monitor = ConditionLock(Outcome?.none)
        resolve { outcome in monitor.withLockBroadcasting { $0 = outcome } }
        try monitor.wait { $0 }.get()
    }

    private func make() -> Outcome {
        // A caller may have found this entry just before its handlers replaced it. They must not be made again.
        guard let registry = registry.withLock({ $0.registry }), registry.holds(self) else { return .success(()) }
        do throws(LoadError) {
            registry.replace(self, with: try source.makeHandlers())
            return .success(())
        } catch {
            return .failure(error)
        }
    }

    private func finish(_ outcome: Outcome) {
        let waiters = waiters.withLock { $0.take() ?? [] }
        Self.notify(waiters[...], outcome)
    }

    /// Before each waiter, hands the others to another thread: the waiter may take a long time, or wait for the effect
    /// of another one.
    private static func notify(_ waiters: ArraySlice<Waiter>, _ outcome: Outcome) {
        var waiters = waiters
        while let first = waiters.popFirst() {
            let others = waiters
            if !others.isEmpty {
                // If no thread is available, they have to wait.
                do throws(LoadError) {
                    try LoadThreadPool.shared.run(isNested: true) { notify(others, outcome) }
                    waiters = []
                } catch {}
            }
            first(outcome)
        }
    }

    /// The message of the last failure that was reported.
    private let lastMessage = Mutex(String?.none)

    /// Whether the failure differs from the last one.
    func isNews(_ error: LoadError) -> Bool {
        lastMessage.withLock { message in
            defer { message = error.message }
            return message != error.message
        }
    }
}
