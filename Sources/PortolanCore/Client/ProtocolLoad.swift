// SPDX-License-Identifier: Apache-2.0

/// One load in progress, as a handler made it.
///
/// All three calls may come on any thread, also while the load is calling its client; ``SerialCalls`` puts them in turn for a load that wants it so.
public protocol ProtocolLoad: AnyObject, Sendable {
    /// Begins. Called at most once, and before anything else; the load may call its client from inside, up to the end.
    func startLoading()

    /// Ends the load: what it holds is let go, and no event may follow (but see ``stopsInTurn``). Idempotent; may come before the start, and is
    /// not called after the load's own end.
    func stopLoading()

    /// Goes on after the client's answer `.pause`. Comes at most once for each such answer; it may overtake the return of that answer.
    func resumeLoading()

    /// Whether another thread may be about to call the client when ``stopLoading()`` returns: it has seen that the load goes on, and has yet
    /// to make the call. The client does not get such a call, and no rule is broken by it (CANCEL-01). By default `false`; as
    /// ``HandlerTraits/stopsInTurn``, for one load.
    var stopsInTurn: Bool { get }

    /// The load itself, where a thread that waits for it can do its work; by default `nil`.
    var waitable: (any WaitableLoad)? { get }
}

extension ProtocolLoad {
    public var stopsInTurn: Bool { false }
    public var waitable: (any WaitableLoad)? { nil }
}

/// A load whose work a thread that waits for it can do: then no other one has to be woken.
public protocol WaitableLoad: ProtocolLoad {
    /// As ``ProtocolLoad/startLoading()``, in the thread that is going to wait for the load: unless the load has ended by then, it calls ``carryOn(for:)``
    /// next. That may come after a plain `startLoading()`, too.
    func startAwaitedLoading()

    /// Does the load's work in the calling thread, which is the waiter's, and sleeps where there is none, until the load has ended, the waiter has
    /// what it waits for, or the load has to be left to other threads again.
    ///
    /// - Returns: `false` where the calling thread could do nothing.
    func carryOn(for waiter: LoadWaiter) -> Bool
}

extension WaitableLoad {
    public var waitable: (any WaitableLoad)? { self }
}

/// A load that only fails, for handlers that know at once that they cannot serve a request.
public final class FailedLoad: ProtocolLoad {
    private let error: LoadError
    private let client: any ProtocolClient

    public init(_ error: LoadError, client: any ProtocolClient) {
        self.error = error
        self.client = client
    }

    /// A stop may come while it starts.
    public var stopsInTurn: Bool { true }

    public func startLoading() { client.didFail(with: error) }
    public func stopLoading() {}
    public func resumeLoading() {}
}

/// What a load waits for in a queue of its handler's, as for a connection.
package struct QueueWait: Sendable {
    /// Why it waits, as it is when somebody asks.
    package struct Explanation: Sendable {
        /// What it waits for, as a clause for a message, with a remedy.
        package let reason: String
        package let remedy: LoadError.Remedy
        /// What the load fails with when its time is over.
        package let error: LoadError

        /// - Parameter reason: without the remedy.
        package init(_ reason: String, remedy: LoadError.Remedy, error: LoadError) {
            (self.reason, self.remedy, self.error) = ("\(reason); \(remedy.words)", remedy, error)
        }
    }

    /// How long it may wait; `nil`: as long as it takes.
    package let limit: Duration?
    private let explain: @Sendable () -> Explanation

    /// - Parameter explain: called on any thread.
    package init(limit: Duration?, explain: @escaping @Sendable () -> Explanation) {
        (self.limit, self.explain) = (limit, explain)
    }

    package init(_ reason: String, limit: Duration?, remedy: LoadError.Remedy, error: LoadError) {
        let explanation = Explanation(reason, remedy: remedy, error: error)
        self.init(limit: limit) { explanation }
    }

    package var explanation: Explanation { explain() }
    package var reason: String { explain().reason }
    package var remedy: LoadError.Remedy { explain().remedy }
    package var error: LoadError { explain().error }
}

/// A client that counts no idle time while its load waits in a queue, and keeps the queue's own limit.
///
/// Not events: any thread, at any time between the load's start and its end.
package protocol QueueingClient: ProtocolClient {
    /// The load waits; also after ``didLeaveQueue(mayReturn:)``. The limit counts from the first time.
    func didEnterQueue(_ wait: QueueWait)
    /// Idempotent.
    ///
    /// - Parameter mayReturn: the load may come back to the same wait, whose limit then goes on. Otherwise the wait is over.
    func didLeaveQueue(mayReturn: Bool)
}

/// A load that can say why nothing comes from it: a time-out that ends it quotes that.
package protocol StallExplaining: ProtocolLoad {
    /// A clause for a message, with a remedy; `nil` where nothing is known to stand in the way. Any thread.
    var stallReason: String? { get }
}
