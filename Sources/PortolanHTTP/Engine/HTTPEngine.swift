// SPDX-License-Identifier: Apache-2.0

import NIOCore
import NIOPosix
import PortolanCore
import Synchronization

/// The threads and connections of one handler; made when the first load needs them. Any thread.
final class HTTPEngine: Sendable {
    let configuration: HTTPConfiguration
    /// What the environment said when the engine was made.
    let proxies: ProxySelection
    private let sites = SiteTable()
    /// For sockets without TLS, and for channels of every kind.
    private let socketLanes: [Lane]
    private let channelLanes: [Lane]

    /// A loop with its pool.
    final class Lane: @unchecked Sendable {  // … because the pool is touched in the loop's turns only
        let loop: any SerialLoop
        fileprivate(set) var pool: ConnectionPool?
        /// The engine's loads here that have begun and not ended.
        var loadCount = 0
        /// Answers of a server tend to have one type.
        var lastType = ParsedType()

        init(_ loop: any SerialLoop) { self.loop = loop }
    }

    init(_ configuration: HTTPConfiguration) {
        self.configuration = configuration
        proxies = ProxySelection(configuration.proxies)
        let secured = SecureContexts(configuration.tls, allowsHTTP2: configuration.allowsHTTP2)
        let eventLoops = EventQueues.loops
        let count = max(1, configuration.threadCount ?? eventLoops.count)
        let channels = eventLoops.prefix(count).map { loop in
            (lane: Lane(ThreadLoop(loop)), connector: HTTPConnector(configuration, secured: secured, on: loop))
        }
        // Where no loop of sockets can be had, channels do.
        let sockets = ((try? SocketLoop.shared.get()) ?? []).prefix(count).enumerated().map { index, loop in
            (lane: Lane(loop), connector: SocketConnector(channels[index % channels.count].connector, for: loop))
        }
        channelLanes = channels.map(\.lane)
        socketLanes = sockets.map(\.lane)
        let budget = ConnectionBudget(configuration.connections.total)
        let all = channels.map { ($0.lane, $0.connector as any Connector) } + sockets.map { ($0.lane, $0.connector as any Connector) }
        for (lane, connector) in all {
            let others = all.map(\.0).filter { $0 !== lane }.map(WeakLane.init)
            lane.pool = ConnectionPool(on: lane.loop, limits: configuration.connections, budget: budget, connector: connector) {
                for lane in others.compactMap(\.lane) {
                    lane.loop.execute { lane.pool?.closeOneIdle() }
                }
            }
        }
    }

    deinit { closeIdleConnections() }

    func site(for request: Request) -> Site? { sites.site(for: request, in: self) }

    /// Where loads of this origin run, whatever proxy they go through: a load stays where it is when it learns a credential for the proxy.
    func lane(for key: ConnectionKey) -> Lane {
        let lanes = key.isPlain && !socketLanes.isEmpty ? socketLanes : channelLanes
        return lanes[Int(UInt(bitPattern: key.origin.hashValue) % UInt(lanes.count))]
    }

    /// Closes all connections that carry no load.
    func closeIdleConnections() {
        for lane in socketLanes + channelLanes {
            lane.loop.execute { lane.pool?.closeIdle() }
        }
    }
}

private struct WeakLane: Sendable {
    weak let lane: HTTPEngine.Lane?

    init(_ lane: HTTPEngine.Lane) { self.lane = lane }
}
