// SPDX-License-Identifier: Apache-2.0

import PortolanCore
import Synchronization
import PortolanTransport

/// The threads and connections of one handler; made when the first load needs them. Any thread.
final class HTTPEngine: Sendable {
    let configuration: HTTPConfiguration
    /// What the environment said when the engine was made.
    let proxies: ProxySelection
    private let sites = SiteTable()
    private let lanes: [Lane]

    /// A loop with its pool.
    final class Lane: @unchecked Sendable {  // … because the pool is touched in the loop's turns only
        let loop: SocketLoop
        fileprivate(set) var pool: ConnectionPool?
        /// The engine's loads here that have begun and not ended.
        var loadCount = 0
        /// Answers of a server tend to have one type.
        var lastType = ParsedType()

        init(_ loop: SocketLoop) { self.loop = loop }
    }

    /// - Throws: ``LoadError/Code/noResources``
    init(_ configuration: HTTPConfiguration) throws(LoadError) {
        self.configuration = configuration
        proxies = ProxySelection(configuration.proxies)
        let transport = configuration.transport
        let contexts = SecureContexts(transport.tls)
        let loops = try SocketLoop.shared.get()
        let lanes = loops.prefix(max(1, configuration.threadCount ?? loops.count)).map { Lane($0) }
        self.lanes = lanes
        let budget = ConnectionBudget(configuration.connections.total)
        for lane in lanes {
            let others = lanes.filter { $0 !== lane }.map(WeakLane.init)
            let connector = HTTPConnector(configuration, over: ByteConnector(transport, contexts: contexts, on: lane.loop))
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
        lanes[Int(UInt(bitPattern: key.origin.hashValue) % UInt(lanes.count))]
    }

    /// Closes all connections that carry no load.
    func closeIdleConnections() {
        for lane in lanes {
            lane.loop.execute { lane.pool?.closeIdle() }
        }
    }
}

private struct WeakLane: Sendable {
    weak let lane: HTTPEngine.Lane?

    init(_ lane: HTTPEngine.Lane) { self.lane = lane }
}
