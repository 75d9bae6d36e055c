// SPDX-License-Identifier: Apache-2.0

public import PortolanCore
import Synchronization

/// Loads `http:` and `https:` URLs: HTTP/1.1 (RFC 9112) and HTTP/2 (RFC 9113), with the meaning of RFC 9110.
///
/// Its loads share its connections. Everything is made when the first load starts: a handler that is never asked has neither thread nor socket.
public final class HTTPHandler: ProtocolHandler {
    public let identifier = "org.portolan.http"
    public let schemes = SchemeSet.only(["http", "https"])
    /// `multipart/x-mixed-replace` brings one response for each part.
    public let traits: HandlerTraits = [.multipart, .stopsInTurn]
    private let configuration: HTTPConfiguration
    private let engine = Mutex<HTTPEngine?>(nil)

    public init(configuration: HTTPConfiguration = HTTPConfiguration()) {
        self.configuration = configuration
    }

    public func makeLoad(for request: Request, cachedResponse: CachedResponse?, client: any ProtocolClient) -> any ProtocolLoad {
        do throws(LoadError) {
            let engine = try sharedEngine()
            if let site = engine.site(for: request) { return HTTPLoad(request, client: client, site: site, engine: engine) }
            return try HTTPLoad(request, client: client, key: try ConnectionKey(request, proxies: engine.proxies), engine: engine)
        } catch {
            return FailedLoad(error, client: client)
        }
    }

    /// After a failure the next load makes another try.
    private func sharedEngine() throws(LoadError) -> HTTPEngine {
        try engine.withLock { engine throws(LoadError) in
            if let engine { return engine }
            let new = try HTTPEngine(configuration)
            engine = new
            return new
        }
    }

    /// Closes the connections that no load uses just now.
    public func closeIdleConnections() {
        engine.withLock { $0 }?.closeIdleConnections()
    }
}
