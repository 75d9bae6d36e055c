// SPDX-License-Identifier: Apache-2.0

import PortolanCore
import Synchronization
import PortolanTransport

/// The connections of one handler, and the event loops that they use. Made when the first load needs them. Any thread.
final class HTTPConnectionPools: Sendable {
    let configuration: HTTPConfiguration
    /// The proxies. The environment is read when the pools are made.
    let proxies: ProxySelection
    private let templates = RequestTemplateCache()
    private let shards: [EventLoopShard]

    /// An event loop with its pool.
    final class EventLoopShard: @unchecked Sendable {  // … because the pool is used on its event loop only
        let loop: SocketEventLoop
        fileprivate(set) var pool: ConnectionPool?
        /// The last Content-Type, because responses of a server tend to have the same one.
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
                    shard.loop.execute { shard.pool?.closeOneIdle() }
                }
            }
        }
    }

    deinit { closeIdleConnections() }

    func template(for request: Request) -> RequestTemplate? { templates.template(for: request, in: self) }

    /// The shard on which loads of this origin run, whatever proxy they use. So a load stays there when it gets a
    /// credential for the proxy.
    func shard(for key: ConnectionKey) -> EventLoopShard {
        shards[Int(UInt(bitPattern: key.origin.hashValue) % UInt(shards.count))]
    }

    /// Closes all connections that carry no load.
    func closeIdleConnections() {
        for shard in shards {
            shard.loop.execute { shard.pool?.closeIdle() }
        }
    }
}

private struct WeakShard: Sendable {
    weak let shard: HTTPConnectionPools.EventLoopShard?

    init(_ shard: HTTPConnectionPools.EventLoopShard) { self.shard = shard }
}
