// SPDX-License-Identifier: Apache-2.0

/// One load in progress, made by a handler.
///
/// All three calls may come on any thread, also while the load is calling its client. ``SerialCalls`` serializes them
/// for a load that needs that.
public protocol ProtocolLoad: AnyObject, Sendable {
    /// Begins the load. Called at most once, before anything except a stop. The load may call its client during this
    /// call, up to its end.
    func startLoading()

    /// Ends the load and releases its resources. No event may follow (except with ``stopsInTurn``). Idempotent. May
    /// come before the start, and is not called after the load's own end.
    func stopLoading()

    /// Continues after the client returned `.pause`. Comes at most once for each `.pause`, and may overtake its return.
    func resumeLoading()

    /// Whether another thread may be about to call the client when ``stopLoading()`` returns: it decided to call before
    /// the stop, and has not called yet. The client does not receive such a call, and the call violates no rule
    /// (CANCEL-01). `false` by default. Has the meaning of ``HandlerTraits/stopsInTurn``, for one load.
    var stopsInTurn: Bool { get }

    /// The load itself, if a thread that waits for it can do its work; `nil` by default.
    var waitable: (any WaitableLoad)? { get }
}

extension ProtocolLoad {
    public var stopsInTurn: Bool { false }
    public var waitable: (any WaitableLoad)? { nil }
}

/// A load whose work can be done by the thread that waits for it. No other thread has to be woken then.
public protocol WaitableLoad: ProtocolLoad {
    /// Does what ``ProtocolLoad/startLoading()`` does, on the thread that will wait for the load. Unless the load ends
    /// during this call, that thread calls ``drive(for:)`` next. It may also do so after a plain `startLoading()`.
    func startAwaitedLoading()

    /// Does the load's work on the calling thread, which is the waiter's, and sleeps while there is none. Returns when
    /// the load has ended, when the waiter has what it waits for, or when other threads have to take over the load
    /// again.
    ///
    /// - Returns: `false` if the calling thread could do nothing.
    func drive(for waiter: LoadWaiter) -> Bool
}

extension WaitableLoad {
    public var waitable: (any WaitableLoad)? { self }
}

/// A load that only fails, for handlers that know immediately that they cannot serve a request.
public final class FailedLoad: ProtocolLoad {
    private let error: LoadError
    private let client: any ProtocolClient

    public init(_ error: LoadError, client: any ProtocolClient) {
        self.error = error
        self.client = client
    }

    /// Always `true`, because a stop may come during the start.
    public var stopsInTurn: Bool { true }

    public func startLoading() { client.didFail(with: error) }
    public func stopLoading() {}
    public func resumeLoading() {}
}

/// What a load waits for in a queue of its handler, such as a connection.
package struct QueueWait: Sendable {
    /// Why the load waits, evaluated when it is requested.
    package struct Explanation: Sendable {
        /// What the load waits for, as a clause for a message, with a remedy.
        package let reason: String
        package let remedy: LoadError.Remedy
        /// The error that fails the load when its time limit expires.
        package let error: LoadError

        /// - Parameter reason: the reason without the remedy.
        package init(_ reason: String, remedy: LoadError.Remedy, error: LoadError) {
            (self.reason, self.remedy, self.error) = ("\(reason); \(remedy.phrase)", remedy, error)
        }
    }

    /// The longest wait; `nil` for no limit.
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

/// A client that pauses the idle timer while its load waits in a queue, and enforces the queue's own limit.
///
/// These calls are not events: they may come on any thread, at any time between the load's start and its end.
package protocol QueueingClient: ProtocolClient {
    /// The load starts to wait. May also come after ``didLeaveQueue(mayReturn:)``. The limit counts from the first
    /// call.
    func didEnterQueue(_ wait: QueueWait)
    /// The load no longer waits. Idempotent.
    ///
    /// - Parameter mayReturn: whether the load may return to the same wait, whose limit then continues. Otherwise the
    ///   wait is over.
    func didLeaveQueue(mayReturn: Bool)
}

/// A load that can say why no events come from it. A timeout that ends the load quotes the reason.
package protocol StallExplaining: ProtocolLoad {
    /// A clause for a message, with a remedy; `nil` if no obstacle is known. Any thread.
    var stallReason: String? { get }
}
