// SPDX-License-Identifier: Apache-2.0

public import PortolanCore
import Synchronization

/// Loads `http:` and `https:` URLs, with HTTP/1.1 (RFC 9110, RFC 9112) and HTTP/2 (RFC 9113).
///
/// All loads of a handler share its connections. The event-loop threads start with the first load, and all handlers
/// share them.
public final class HTTPHandler: ProtocolHandler {
    public let identifier = "org.portolan.http"
    public let schemes = SchemeSet.only(["http", "https"])
    /// Includes `multipart`, because a `multipart/x-mixed-replace` body delivers one response for each part.
    public let traits: HandlerTraits = [.multipart, .stopsAsynchronously, .cookies, .cacheable, .httpFields]
    private let configuration: HTTPConfiguration
    private let pools = Mutex<HTTPConnectionPools?>(nil)

    public init(configuration: HTTPConfiguration = HTTPConfiguration()) {
        self.configuration = configuration
    }

    public func makeLoad(for request: Request, cachedResponse: CachedResponse?, client: any ProtocolClient) -> any ProtocolLoad {
        do throws(LoadError) {
            let pools = try connectionPools()
            if let template = pools.template(for: request) { return HTTPLoad(request, client: client, template: template, pools: pools) }
            return try HTTPLoad(request, client: client, key: try ConnectionKey(request, proxies: pools.proxySelection), pools: pools)
        } catch {
            return FailedLoad(error, client: client)
        }
    }

    /// Returns the pools. Makes them if they do not exist yet, or if an earlier call could not make them.
    private func connectionPools() throws(LoadError) -> HTTPConnectionPools {
        try pools.withLock { pools throws(LoadError) in
            if let pools { return pools }
            let new = try HTTPConnectionPools(configuration)
            pools = new
            return new
        }
    }

    /// Closes all idle connections.
    public func closeIdleConnections() {
        pools.withLock { $0 }?.closeIdleConnections()
    }
}
