// SPDX-License-Identifier: Apache-2.0

import PortolanCore
import Synchronization
import PortolanTransport

/// The connection pools of one handler, one for each event loop. Its methods can be called on any thread.
final class HTTPConnectionPools: Sendable {
    let configuration: HTTPConfiguration
    /// Selects the proxies. The environment is read when the pools are made.
    let proxySelection: ProxySelection
    /// How often the nonces of Digest challenges were used.
    let nonceCounts = DigestNonceCounts()
    private let templates = RequestTemplateCache()
    private let loopsWithPools: [LoopWithPool]

    /// An event loop with its pool.
    final class LoopWithPool: @unchecked Sendable {  // … because the pool is used on its event loop only
        let loop: SocketEventLoop
        fileprivate(set) var pool: ConnectionPool?
        /// The parsed Content-Type of the last response. It is kept, because the next response often has the same one.
        var contentTypeCache = ContentTypeCache()

        init(_ loop: SocketEventLoop) { self.loop = loop }
    }

    /// - Throws: ``LoadError/Code/noResources`` if an event loop cannot be made.
    init(_ configuration: HTTPConfiguration) throws(LoadError) {
        self.configuration = configuration
        proxySelection = ProxySelection(configuration.proxies)
        let transport = configuration.transport
        let tlsContexts = TLSContextCache(transport.tls)
        let loops = try SocketEventLoop.shared.get()
        let loopsWithPools = loops.prefix(max(1, configuration.threadCount ?? loops.count)).map { LoopWithPool($0) }
        self.loopsWithPools = loopsWithPools
        let limiter = ConnectionLimiter(configuration.connectionLimits.total)
        for loopWithPool in loopsWithPools {
            let others = loopsWithPools.filter { $0 !== loopWithPool }.map(WeakLoopWithPool.init)
            let connector = HTTPConnector(configuration, over: ByteConnector(transport, contexts: tlsContexts, on: loopWithPool.loop))
            loopWithPool.pool = ConnectionPool(
                on: loopWithPool.loop, limits: configuration.connectionLimits, limiter: limiter, connector: connector
            ) {
                for loopWithPool in others.compactMap(\.loopWithPool) {
                    loopWithPool.loop.execute { loopWithPool.pool?.closeOldestIdleConnection() }
                }
            }
        }
    }

    deinit { closeIdleConnections() }

    func template(for request: Request) -> RequestTemplate? { templates.template(for: request, in: self) }

    /// The event loop for loads of this origin. The loop depends only on the origin. So a load stays on its loop when a
    /// credential for the proxy changes its key.
    func loopWithPool(for key: ConnectionKey) -> LoopWithPool {
        loopsWithPools[Int(UInt(bitPattern: key.origin.hashValue) % UInt(loopsWithPools.count))]
    }

    /// Closes all idle connections.
    func closeIdleConnections() {
        for loopWithPool in loopsWithPools {
            loopWithPool.loop.execute { loopWithPool.pool?.closeIdleConnections() }
        }
    }
}

private struct WeakLoopWithPool: Sendable {
    weak let loopWithPool: HTTPConnectionPools.LoopWithPool?

    init(_ loopWithPool: HTTPConnectionPools.LoopWithPool) { self.loopWithPool = loopWithPool }
}
