// SPDX-License-Identifier: Apache-2.0

import HTTPTypes
import PortolanCore
import Synchronization
import PortolanHTTPSyntax

/// An origin, with everything that is the same for all plain requests to it. A plain request has no body, and its
/// caller gives only the URL.
final class RequestTemplate: Sendable {
    /// The part of the origin's URLs before the path.
    fileprivate let prefix: [UInt8]
    let key: ConnectionKey
    let shard: HTTPConnectionPools.EventLoopShard
    /// The fields of a plain request.
    let fields: HTTPFields
    /// The same fields, as HTTP/1.1 writes them.
    let lines: [UInt8]

    /// - Parameter request: a plain request.
    /// - Throws: the reason why it can't be sent.
    fileprivate init(_ request: Request, pools: HTTPConnectionPools) throws(LoadError) {
        prefix = Array(request.url.beforePath.utf8)
        key = try ConnectionKey(request, proxies: pools.proxies)
        shard = pools.shard(for: key)
        var preparedRequest = try PreparedRequest(request, configuration: pools.configuration)
        try preparedRequest.authorize(toProxyOf: key, sending: nil)
        fields = preparedRequest.fields
        lines = try RequestHeadWriter.lines(of: fields)
    }
}

/// The templates that were made last.
struct RequestTemplateCache: ~Copyable {
    /// So few that a linear search costs less than a hash.
    private static let limit = 8
    private let templates = Mutex<[RequestTemplate]>([])

    /// - Returns: `nil` for a request that is not plain, or that can't be sent.
    func template(for request: Request, in pools: HTTPConnectionPools) -> RequestTemplate? {
        guard request.method == .get, request.fields.isEmpty, request.body == nil, request.properties.isEmpty,
            request.authenticatedSpace == nil
        else { return nil }
        let url = request.url
        if let template = templates.withLock({ templates in templates.first { url.isLed(by: $0.prefix) } }) { return template }
        // `try?` because the load without a template reports the error.
        guard !url.hasCredentials, let template = try? RequestTemplate(request, pools: pools) else { return nil }
        templates.withLock { templates in
            if templates.count == Self.limit { templates.removeLast() }
            templates.insert(template, at: 0)
        }
        return template
    }
}
