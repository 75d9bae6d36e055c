// SPDX-License-Identifier: Apache-2.0

import PortolanCore
import Synchronization
import PortolanTransport

/// The connection pools of one handler, one for each event loop. Any thread.
final class HTTPConnectionPools: Sendable {
    let configuration: HTTPConfiguration
    /// Selects the proxies. The environment is read when the pools are made.
    let proxies: ProxySelection
    private let templates = RequestTemplateCache()
    private let shards: [EventLoopShard]

    /// An event loop with its pool.
    final class EventLoopShard: @unchecked Sendable {  // … because the pool is used on its event loop only
        let loop: SocketEventLoop
        fileprivate(set) var pool: ConnectionPool?
        /// The Content-Type of the last response, because the responses of a server often have the same one.
        var lastType = ParsedType()

        init(_ loop: SocketEventLoop) { self.loop = loop }
    }

    /// - Throws: ``LoadError/Code/noResources``
    init(_ configuration: HTTPConfiguration) throws(LoadError) {
        self.configuration = configuration
        proxies = ProxySelection(configuration.proxies)
        let transport = configuration.transport
        let contexts = TLSContextCache(transport.tls)
        let loops = try SocketEventLoop.shared.get()
        let shards = loops.prefix(max(1, configuration.threadCount ?? loops.count)).map { EventLoopShard($0) }
        self.shards = shards
        let limiter = ConnectionLimiter(configuration.connectionLimits.total)
        for shard in shards {
            let others = shards.filter { $0 !== shard }.map(WeakShard.init)
            let connector = HTTPConnector(configuration, over: ByteConnector(transport, contexts: contexts, on: shard.loop))
            shard.pool = ConnectionPool(on: shard.loop, limits: configuration.connectionLimits, limiter: limiter, connector: connector) {
                for shard in others.compactMap(\.shard) {
                    shard.loop.execute { shard.pool?.closeOldestIdleConnection() }
                }
            }
        }
    }

    deinit { closeIdleConnections() }

    func template(for request: Request) -> RequestTemplate? { templates.template(for: request, in: self) }

    /// The event loop for loads of this origin. It does not depend on the proxy, so a load stays there when it gets a
    /// credential for the proxy.
    func shard(for key: ConnectionKey) -> EventLoopShard {
        shards[Int(UInt(bitPattern: key.origin.hashValue) % UInt(shards.count))]
    }

    /// Closes all idle connections.
    func closeIdleConnections() {
        for shard in shards {
            shard.loop.execute { shard.pool?.closeIdleConnections() }
        }
    }
}

private struct WeakShard: Sendable {
    weak let shard: HTTPConnectionPools.EventLoopShard?

    init(_ shard: HTTPConnectionPools.EventLoopShard) { self.shard = shard }
}
