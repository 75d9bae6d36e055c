// SPDX-License-Identifier: Apache-2.0

import HTTPTypes
import PortolanCore
import Synchronization
import PortolanHTTPSyntax

/// The values that are the same for all plain requests to one origin. A plain request is a GET without a body, and
/// without fields and properties of the caller.
final class RequestTemplate: Sendable {
    /// The part of the origin's URLs before the path.
    fileprivate let prefix: [UInt8]
    let key: ConnectionKey
    let loopWithPool: HTTPConnectionPools.LoopWithPool
    /// The fields of a plain request.
    let fields: HTTPFields
    /// The same fields as HTTP/1.1 field lines.
    let lines: [UInt8]

    /// - Parameter request: a plain request.
    /// - Throws: the reason why it can't be sent.
    fileprivate init(_ request: Request, pools: HTTPConnectionPools) throws(LoadError) {
        prefix = Array(request.url.schemeAndAuthority.utf8)
        key = try ConnectionKey(request, proxies: pools.proxySelection)
        loopWithPool = pools.loopWithPool(for: key)
        var preparedRequest = try PreparedRequest(request, configuration: pools.configuration)
        try preparedRequest.authorize(toProxyOf: key, sending: nil)
        fields = preparedRequest.fields
        lines = try RequestHeadWriter.lines(of: fields)
    }
}

/// The most recent templates.
struct RequestTemplateCache: ~Copyable {
    /// With so few templates, a linear search is faster than hashing.
    private static let limit = 8
    private let templates = Mutex<[RequestTemplate]>([])

    /// - Returns: `nil` for a request that is not plain, or that can't be sent.
    func template(for request: Request, in pools: HTTPConnectionPools) -> RequestTemplate? {
        guard request.method == .get, request.fields.isEmpty, request.body == nil, request.properties.isEmpty,
            request.authenticatedSpace == nil
        else { return nil }
        let url = request.url
        if let template = templates.withLock({ templates in templates.first { url.hasSchemeAndAuthority($0.prefix) } }) { return template }
        // `try?` because the load without a template reports the error.
        guard !url.hasCredentials, let template = try? RequestTemplate(request, pools: pools) else { return nil }
        templates.withLock { templates in
            if templates.count == Self.limit { templates.removeLast() }
            templates.insert(template, at: 0)
        }
        return template
    }
}
