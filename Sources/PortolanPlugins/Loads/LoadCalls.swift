// SPDX-License-Identifier: Apache-2.0

import CPortolan

/// How the host calls into a load, and how the load's client functions wait: all that differs between the two styles.
protocol LoadCalls: AnyObject, Sendable {
    // From the core, on any thread.
    func start(_ load: HostedLoad)
    func resume(_ load: HostedLoad)
    func stop(_ load: HostedLoad)

    // From elsewhere, on any thread.
    /// Why the plugin was not called yet, though it is to be; `nil` where it was.
    var stallReason: String? { get }
    /// What the load waits for may be there.
    func notify(_ load: HostedLoad)
    /// A challenge whose question has returned was answered.
    func answered(_ load: HostedLoad)

    /// Something that the load has watched is ready.
    func becameReady(_ load: HostedLoad)

    // From a client function, on the thread that is in the load.
    /// The load reports its end, or is told of it.
    func noteEnd()
    /// A client function without an answer returns.
    func clientReturned(_ load: HostedLoad)
    /// Waits for the reader, or says `PORTOLAN_PAUSE`.
    func pause() -> portolan_flow
    /// Waits until `poll` gives a value, or does not wait.
    func wait<Value>(until poll: () -> Value?) -> Waited<Value>
}

/// How a wait ended.
enum Waited<Value> {
    case value(Value)
    /// The load does not wait: it is called when it is worth asking again.
    case later
    case stopped
}

extension Waited: Equatable where Value: Equatable {}
