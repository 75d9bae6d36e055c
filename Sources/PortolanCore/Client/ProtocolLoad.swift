// SPDX-License-Identifier: Apache-2.0

/// One load in progress, made by a handler.
///
/// All three calls can come on any thread, even while the load is calling its client. A load that needs serial calls
/// uses ``SerialCalls``.
public protocol ProtocolLoad: AnyObject, Sendable {
    /// Begins the load. Called at most once. Only a stop can come before it. The load may send events during this call,
    /// including its end.
    func startLoading()

    /// Ends the load and releases its resources. The load must send no event after that, unless it has
    /// ``stopsAsynchronously``. Idempotent. Can come before the start, but not after the load's own end.
    func stopLoading()

    /// Continues after the client returned `.pause`. Called at most once for each `.pause`, possibly before the
    /// client's call that returns `.pause` has returned.
    func resumeLoading()

    /// Whether ``stopLoading()`` can return before the load has stopped, because another thread is about to call the
    /// client. Events that arrive after that are dropped, and violate no rule (CANCEL-01). `false` by default. Has the
    /// meaning of ``HandlerTraits/stopsAsynchronously``, for one load.
    var stopsAsynchronously: Bool { get }

    /// The load itself, if the thread that waits for the load can do the load's work; `nil` by default.
    var waitable: (any WaitableLoad)? { get }
}

extension ProtocolLoad {
    public var stopsAsynchronously: Bool { false }
    public var waitable: (any WaitableLoad)? { nil }
}

/// A load whose work the waiting thread can do, so that no other thread has to wake up.
public protocol WaitableLoad: ProtocolLoad {
    /// Does what ``ProtocolLoad/startLoading()`` does, on the thread that will wait for the load. Unless the load ends
    /// during this call, that thread calls ``drive(for:)`` next. The thread can also call ``drive(for:)`` after a plain
    /// `startLoading()`.
    func startAwaitedLoading()

    /// Does the load's work on the calling thread, which is the waiter's thread, and sleeps while there is no work.
    /// Returns when the load has ended, when the wait is over, or when other threads must continue the load.
    ///
    /// - Returns: `false` if the calling thread could do nothing.
    func drive(for waiter: LoadWaiter) -> Bool
}

extension WaitableLoad {
    public var waitable: (any WaitableLoad)? { self }
}

/// A load that only fails. For handlers that cannot serve a request.
public final class FailedLoad: ProtocolLoad {
    private let error: LoadError
    private let client: any ProtocolClient

    public init(_ error: LoadError, client: any ProtocolClient) {
        self.error = error
        self.client = client
    }

    /// Always `true`, because a stop can come during the start.
    public var stopsAsynchronously: Bool { true }

    public func startLoading() { client.didFail(with: error) }
    public func stopLoading() {}
    public func resumeLoading() {}
}

/// What a load waits for in a queue of its handler, such as a connection.
package struct QueueWait: Sendable {
    /// Why the load waits at one moment.
    package struct Explanation: Sendable {
        /// What the load waits for and how to change that, as a clause for a message.
        package let reason: String
        package let remedy: LoadError.Remedy
        /// The error that fails the load when the limit of the wait expires.
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

/// A client that pauses the idle timer while its load waits in a queue, and enforces the queue's own limit. It also
/// logs what the load sends by itself.
///
/// These calls are not events: they can come on any thread, at any time between the load's start and its end.
package protocol QueueingClient: ProtocolClient {
    /// The load starts to wait. A load that can return to the queue can call this again. The limit counts from the
    /// first call.
    func didEnterQueue(_ wait: QueueWait)
    /// The load no longer waits. Idempotent.
    ///
    /// - Parameter mayReturn: whether the load can return to the same queue. The limit of the wait then continues.
    ///   Otherwise the wait is over.
    func didLeaveQueue(mayReturn: Bool)
    /// Logs who gets a credential (``Loader/logAccess(_:of:isForNextRequest:)``). The text has no secret.
    func logAccess(_ fact: @autoclosure () -> String)
}

/// A load that can explain why it sends no events. If a timeout ends the load, the error quotes the reason.
package protocol StallExplaining: ProtocolLoad {
    /// The reason and a remedy, as a clause for a message; `nil` if the reason is unknown. Can be read on any thread.
    var stallReason: String? { get }
}
