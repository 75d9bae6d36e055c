// SPDX-License-Identifier: Apache-2.0

import HTTPTypes
import PortolanCore
import Synchronization
import PortolanHTTPSyntax

/// An origin, with what is the same for all plain requests to it: those without a body, and without a word of the caller's but the URL.
final class Site: Sendable {
    /// Of its URLs, what stands before the path.
    fileprivate let prefix: [UInt8]
    let key: ConnectionKey
    let lane: HTTPEngine.Lane
    /// What a plain request is sent with.
    let fields: HTTPFields
    /// The same, as HTTP/1.1 writes them.
    let lines: [UInt8]

    /// - Parameter request: a plain one.
    /// - Throws: why it can't be sent.
    fileprivate init(_ request: Request, engine: HTTPEngine) throws(LoadError) {
        prefix = Array(request.url.beforePath.utf8)
        key = try ConnectionKey(request, proxies: engine.proxies)
        lane = engine.lane(for: key)
        var outgoing = try OutgoingRequest(request, configuration: engine.configuration)
        try outgoing.authorize(toProxyOf: key)
        fields = outgoing.fields
        lines = try RequestHeadWriter.lines(of: fields)
    }
}

/// The sites that were asked last.
struct SiteTable: ~Copyable {
    /// So few that looking at each costs less than a hash.
    private static let limit = 8
    private let sites = Mutex<[Site]>([])

    /// - Returns: `nil` for a request that is not plain, or that can't be sent.
    func site(for request: Request, in engine: HTTPEngine) -> Site? {
        guard request.method == .get, request.fields.isEmpty, request.body == nil, request.properties.isEmpty else { return nil }
        let url = request.url
        if let site = sites.withLock({ sites in sites.first { url.isLed(by: $0.prefix) } }) { return site }
        // `try?`: whoever goes on without says why.
        guard !url.hasCredentials, let site = try? Site(request, engine: engine) else { return nil }
        sites.withLock { sites in
            if sites.count == Self.limit { sites.removeLast() }
            sites.insert(site, at: 0)
        }
        return site
    }
}
