// SPDX-License-Identifier: Apache-2.0

import NIOCore
import NIOPosix
import Synchronization

/// The threads and connections of one handler; made when the first load needs them. Any thread.
final class HTTPEngine: Sendable {
    let configuration: HTTPConfiguration
    /// What the environment said when the engine was made.
    let proxies: ProxySelection
    private let lanes: [Lane]

    /// An event loop with its pool.
    final class Lane: @unchecked Sendable {  // … because the pool is touched on its event loop only
        let eventLoop: any EventLoop
        fileprivate(set) var pool: ConnectionPool?

        init(_ eventLoop: any EventLoop) { self.eventLoop = eventLoop }
    }

    init(_ configuration: HTTPConfiguration) {
        self.configuration = configuration
        proxies = ProxySelection(configuration.proxies)
        let secured = SecureContexts(configuration.tls, allowsHTTP2: configuration.allowsHTTP2)
        let budget = ConnectionBudget(configuration.connections.total)
        let group = MultiThreadedEventLoopGroup.singleton
        let loops = Array(group.makeIterator())
        let lanes = loops.prefix(max(1, configuration.threadCount ?? loops.count)).map(Lane.init)
        self.lanes = lanes
        for lane in lanes {
            let others = lanes.filter { $0 !== lane }
            lane.pool = ConnectionPool(
                on: lane.eventLoop, limits: configuration.connections, budget: budget,
                connector: HTTPConnector(configuration, secured: secured)
            ) { [others = others.map(WeakLane.init)] in
                for lane in others.compactMap(\.lane) {
                    lane.eventLoop.execute { lane.pool?.closeOneIdle() }
                }
            }
        }
    }

    deinit {
        for lane in lanes { lane.eventLoop.execute { lane.pool?.closeIdle() } }
    }

    /// Where loads of this origin run, whatever proxy they go through: a load stays where it is when it learns a credential for the proxy.
    func lane(for key: ConnectionKey) -> Lane {
        lanes[Int(UInt(bitPattern: key.origin.hashValue) % UInt(lanes.count))]
    }

    /// Closes all connections that carry no load.
    func closeIdleConnections() {
        for lane in lanes { lane.eventLoop.execute { lane.pool?.closeIdle() } }
    }
}

private struct WeakLane: Sendable {
    weak let lane: HTTPEngine.Lane?

    init(_ lane: HTTPEngine.Lane) { self.lane = lane }
}
