// SPDX-License-Identifier: Apache-2.0

public import PortolanCore
import Synchronization

/// Loads `http:` and `https:` URLs: HTTP/1.1 (RFC 9112) and HTTP/2 (RFC 9113), with the meaning of RFC 9110.
///
/// Its loads share its connections. Everything is made when the first load starts. A handler without loads has neither
/// thread nor socket.
public final class HTTPHandler: ProtocolHandler {
    public let identifier = "org.portolan.http"
    public let schemes = SchemeSet.only(["http", "https"])
    /// `multipart/x-mixed-replace` delivers one response for each part.
    public let traits: HandlerTraits = [.multipart, .stopsInTurn, .cookies]
    private let configuration: HTTPConfiguration
    private let pools = Mutex<HTTPConnectionPools?>(nil)

    public init(configuration: HTTPConfiguration = HTTPConfiguration()) {
        self.configuration = configuration
    }

    public func makeLoad(for request: Request, cachedResponse: CachedResponse?, client: any ProtocolClient) -> any ProtocolLoad {
        do throws(LoadError) {
            let pools = try connectionPools()
            if let template = pools.template(for: request) { return HTTPLoad(request, client: client, template: template, pools: pools) }
            return try HTTPLoad(request, client: client, key: try ConnectionKey(request, proxies: pools.proxies), pools: pools)
        } catch {
            return FailedLoad(error, client: client)
        }
    }

    /// After a failure the next load tries again.
    private func connectionPools() throws(LoadError) -> HTTPConnectionPools {
        try pools.withLock { pools throws(LoadError) in
            if let pools { return pools }
            let new = try HTTPConnectionPools(configuration)
            pools = new
            return new
        }
    }

    /// Closes the connections that carry no load.
    public func closeIdleConnections() {
        pools.withLock { $0 }?.closeIdleConnections()
    }
}
