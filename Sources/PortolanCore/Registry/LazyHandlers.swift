// SPDX-License-Identifier: Apache-2.0

import Synchronization

/// Makes handlers when a request first needs them, as a plugin's are made when its library is opened.
public protocol HandlerProvider: Sendable {
    /// Reverse DNS: who is said to have failed where the handlers can't be made.
    var identifier: String { get }
    /// The schemes that its handlers will serve. Until a request of one of them comes, nothing is made.
    var schemes: SchemeSet { get }

    /// The handlers, in the order in which they are to be registered, so that the last is asked first.
    ///
    /// May take its time. Called on a thread of its own and never twice at once; again after a failure, when the next request needs it.
    func makeHandlers() throws(LoadError) -> [any ProtocolHandler]
}

/// A source's place in a registry, until its handlers take it.
package final class LazyHandlers: Sendable {
    package let source: any HandlerProvider
    let registration: RegistrationNumber
    /// Weakly, for the registry holds this.
    private let registry: Mutex<Weak>

    private struct Weak {
        weak var registry: ProtocolRegistry?
    }

    package typealias Outcome = Result<Void, LoadError>
    private typealias Waiter = @Sendable (Outcome) -> Void

    /// Who waits for the handlers being made; `nil` while none are.
    private let waiters = Mutex([Waiter]?.none)

    init(_ source: any HandlerProvider, registration: RegistrationNumber, in registry: ProtocolRegistry) {
        self.source = source
        self.registration = registration
        self.registry = Mutex(Weak(registry: registry))
    }

    /// Has the handlers made and put in this place, then calls `body`, on another thread.
    package func resolve(then body: @escaping @Sendable (Outcome) -> Void) {
        let isFirst = waiters.withLock { waiters in
            defer { waiters = (waiters ?? []) + [body] }
            return waiters == nil
        }
        guard isFirst else { return }
        do throws(LoadError) {
            // Beyond the limit of the threads: whoever waits here must not wait for loads that wait for this.
            try LoadThreadPool.shared.run(isNested: true) { [self] in finish(make()) }
        } catch {
            finish(.failure(error))
        }
    }

    /// As ``resolve(then:)``, and waits for it. Not from event loops.
    package func resolve() throws(LoadError) {
        let monitor = ConditionLock(Outcome?.none)
        resolve { outcome in monitor.withLockBroadcasting { $0 = outcome } }
        try monitor.wait { $0 }.get()
    }

    private func make() -> Outcome {
        // Whoever saw this place just before its handlers took it comes too late to make them again.
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

    /// Hands the others to another thread before each: what it does may take its time, or wait for what one of them does.
    private static func notify(_ waiters: ArraySlice<Waiter>, _ outcome: Outcome) {
        var waiters = waiters
        while let first = waiters.popFirst() {
            let others = waiters
            if !others.isEmpty {
                // Where no thread can be had, they have to wait.
                do throws(LoadError) {
                    try LoadThreadPool.shared.run(isNested: true) { notify(others, outcome) }
                    waiters = []
                } catch {}
            }
            first(outcome)
        }
    }

    /// The message of the last failure that was told of.
    private let lastMessage = Mutex(String?.none)

    /// Whether the failure is another than the last one.
    func isNews(_ error: LoadError) -> Bool {
        lastMessage.withLock { message in
            defer { message = error.message }
            return message != error.message
        }
    }
}
