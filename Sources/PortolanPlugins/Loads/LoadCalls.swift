// SPDX-License-Identifier: Apache-2.0

import CPortolan

/// How the host calls into a load, and how the load's client functions wait: the only differences between the two
/// styles.
protocol LoadCalls: AnyObject, Sendable {
    // From the core, on any thread.
    func start(_ load: HostedLoad)
    func resume(_ load: HostedLoad)
    func stop(_ load: HostedLoad)

    // From elsewhere, on any thread.
    /// Why a pending call into the plugin has not been made yet; `nil` if none is delayed.
    var stallReason: String? { get }
    /// Something that the load waits for may be available.
    func notify(_ load: HostedLoad)
    /// A challenge was answered after its client function had returned.
    func answered(_ load: HostedLoad)

    /// Something that the load watches is ready.
    func becameReady(_ load: HostedLoad)

    // From a client function, on the thread that is in the load.
    /// The load has reported its end, or is being notified of it.
    func noteEnd()
    /// A client function without a result returns.
    func clientReturned(_ load: HostedLoad)
    /// Waits for the consumer, or returns `PORTOLAN_PAUSE`.
    func pause() -> portolan_flow
    /// Waits until `poll` returns a value, or returns at once.
    func wait<Value>(until poll: () -> Value?) -> Waited<Value>
}

/// The result of a wait.
enum Waited<Value> {
    case value(Value)
    /// The load does not wait. It is called when polling again makes sense.
    case later
    case stopped
}

extension Waited: Equatable where Value: Equatable {}
