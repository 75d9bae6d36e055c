// SPDX-License-Identifier: Apache-2.0

import HTTPTypes
import PortolanCore
import Synchronization
import PortolanHTTPSyntax

/// An origin, with what is the same for all plain requests to it: those without a body, and without a word of the caller's but the URL.
final class RequestTemplate: Sendable {
    /// Of its URLs, what stands before the path.
    fileprivate let prefix: [UInt8]
    let key: ConnectionKey
    let shard: HTTPConnectionPools.EventLoopShard
    /// What a plain request is sent with.
    let fields: HTTPFields
    /// The same, as HTTP/1.1 writes them.
    let lines: [UInt8]

    /// - Parameter request: a plain one.
    /// - Throws: why it can't be sent.
    fileprivate init(_ request: Request, pools: HTTPConnectionPools) throws(LoadError) {
        prefix = Array(request.url.beforePath.utf8)
        key = try ConnectionKey(request, proxies: pools.proxies)
        shard = pools.shard(for: key)
        var preparedRequest = try PreparedRequest(request, configuration: pools.configuration)
        try preparedRequest.authorize(toProxyOf: key)
        fields = preparedRequest.fields
        lines = try RequestHeadWriter.lines(of: fields)
    }
}

/// The sites that were asked last.
struct RequestTemplateCache: ~Copyable {
    /// So few that looking at each costs less than a hash.
    private static let limit = 8
    private let templates = Mutex<[RequestTemplate]>([])

    /// - Returns: `nil` for a request that is not plain, or that can't be sent.
    func template(for request: Request, in pools: HTTPConnectionPools) -> RequestTemplate? {
        guard request.method == .get, request.fields.isEmpty, request.body == nil, request.properties.isEmpty else { return nil }
        let url = request.url
        if let template = templates.withLock({ templates in templates.first { url.isLed(by: $0.prefix) } }) { return template }
        // `try?`: whoever goes on without says why.
        guard !url.hasCredentials, let template = try? RequestTemplate(request, pools: pools) else { return nil }
        templates.withLock { templates in
            if templates.count == Self.limit { templates.removeLast() }
            templates.insert(template, at: 0)
        }
        return template
    }
}
