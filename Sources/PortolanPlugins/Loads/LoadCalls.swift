// SPDX-License-Identifier: Apache-2.0

import CPortolan

/// Makes the calls into a load, and the waits of its client functions. Blocking and event-driven loads differ only in
/// their implementation of this protocol.
protocol LoadCalls: AnyObject, Sendable {
    // Called by the core, on any thread.
    func start(_ load: HostedLoad)
    func resume(_ load: HostedLoad)
    func stop(_ load: HostedLoad)

    // Called by other parts of the host, on any thread.
    /// The reason why a call into the plugin is delayed. `nil` if no call is delayed.
    var stallReason: String? { get }
    /// A value for which the load waits can be available.
    func notify(_ load: HostedLoad)
    /// The answer to a challenge has arrived after `did_receive_challenge` had returned.
    func answerDidArrive(_ load: HostedLoad)

    /// A descriptor or timer that the load watches is ready.
    func becameReady(_ load: HostedLoad)

    // Called by a client function, on the thread that is in the load.
    /// The load has reported its end, or the function returns PORTOLAN_STOPPED.
    func recordEnd()
    /// A client function without a result returns.
    func clientCallDidReturn(_ load: HostedLoad)
    /// Waits until the reader is ready (blocking loads), or returns `PORTOLAN_PAUSE` (event-driven loads).
    func pause() -> portolan_flow
    /// Waits until `poll` returns a value (blocking loads), or calls `poll` once and returns (event-driven loads).
    func wait<Value>(until poll: () -> Value?) -> WaitResult<Value>
}

/// The result of a wait.
enum WaitResult<Value> {
    case value(Value)
    /// The load does not wait. The host calls the load when the load can poll again.
    case later
    case stopped
}

extension WaitResult: Equatable where Value: Equatable {}
