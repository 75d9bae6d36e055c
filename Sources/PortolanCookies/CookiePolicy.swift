// SPDX-License-Identifier: Apache-2.0

import FoundationEssentials
package import HTTPTypes
package import PortolanCore
import PortolanURL
import Synchronization

/// Sends the stored cookies with the requests of a loader, and stores the cookies of the responses.
///
/// It stores the cookies of redirects, of 401 responses of the origin and of final responses. It ignores the cookies of
/// 1xx responses, of responses of proxies, and of the parts of a multipart response.
package struct CookiePolicy: LoadPolicy {
    package let storage: CookieStorage

    package init(storage: CookieStorage) { self.storage = storage }

    /// Adds the stored cookies to the request, before the cookies of its own `Cookie` field, as curl does. A stored
    /// cookie is left out if the request's own field has a cookie with the same name.
    package func apply(
        to request: inout Request, next: any ProtocolClient, log: (@Sendable (String) -> Void)? = nil
    ) -> any ProtocolClient {
        guard request.handlesCookies else { return next }
        let client = CookieClient(storage: storage, request: request, next: next, log: log)
        if !storage.isEmpty, let context = client.context {
            Self.setCookies(of: &request.fields, callerFields: client.callerFields, storage, context)
        }
        return client
    }

    package func fieldsAsSent(_ request: Request) -> HTTPFields {
        var fields = request.fields
        if request.handlesCookies, !storage.isEmpty,
            let context = CookieContext(request.url, document: request.mainDocumentURL, now: Date())
        {
            Self.setCookies(of: &fields, callerFields: request.fields, storage, context)
        }
        return fields
    }

    /// Sets the `Cookie` field from the caller's own `Cookie` fields and from the stored cookies.
    ///
    /// - Parameter callerFields: the fields of the request as the caller made it.
    fileprivate static func setCookies(
        of fields: inout HTTPFields, callerFields: HTTPFields, _ storage: CookieStorage, _ context: CookieContext
    ) {
        let values = bytes(of: .cookie, in: callerFields)
        let names = values.flatMap { $0.split(separator: UInt8(ascii: ";")) }.map { pair in
            Array(pair.prefix { $0 != UInt8(ascii: "=") }.drop { $0 == 0x20 })
        }
        guard let header = storage.header(for: context, excluding: names) else { return }
        fields[.cookie] = nil
        fields.append(HTTPField(name: .cookie, value: Array(([header] + values).joined(separator: [UInt8(ascii: ";"), 0x20]))))
    }

    fileprivate static func bytes(of name: HTTPField.Name, in fields: HTTPFields) -> [[UInt8]] {
        fields.filter { $0.name == name }.map { field in unsafe field.withUnsafeBytesOfValue { unsafe Array($0) } }
    }
}

/// Stores the cookies of a load's responses.
private final class CookieClient: ForwardingClient {
    let next: any ProtocolClient
    private let storage: CookieStorage
    private let document: URLRecord?
    /// The fields of the request as the caller made it.
    let callerFields: HTTPFields
    private let url: URLRecord
    private let hasResponse = Atomic(false)
    private let log: (@Sendable (String) -> Void)?

    init(storage: CookieStorage, request: Request, next: any ProtocolClient, log: (@Sendable (String) -> Void)?) {
        (self.storage, self.next, self.log) = (storage, next, log)
        (document, callerFields, url) = (request.mainDocumentURL, request.fields, request.url)
    }

    /// `nil` if the URL has no host, and so no cookies.
    var context: CookieContext? { CookieContext(url, document: document, now: Date()) }

    func wasRedirected(to request: Request, redirectResponse: Response) -> Flow {
        store(redirectResponse)
        // The next request gets the cookies of its own URL.
        var request = request
        request.fields[.cookie] = nil
        for field in callerFields where field.name == .cookie { request.fields.append(field) }
        return next.wasRedirected(to: request, redirectResponse: redirectResponse)
    }

    func requestToResend(_ request: Request) -> Request {
        var request = next.requestToResend(request)
        request.fields[.cookie] = nil
        for field in callerFields where field.name == .cookie { request.fields.append(field) }
        if let context { CookiePolicy.setCookies(of: &request.fields, callerFields: callerFields, storage, context) }
        return request
    }

    func didReceive(_ response: Response, storage policy: CacheStoragePolicy) -> Flow {
        if !hasResponse.exchange(true, ordering: .relaxed) { store(response) }
        return next.didReceive(response, storage: policy)
    }

    func didReceive(_ challenge: AuthenticationChallenge) {
        if let response = challenge.failureResponse, !challenge.protectionSpace.isProxy { store(response) }
        next.didReceive(challenge)
    }

    private func store(_ response: Response) {
        storage.setCookies(from: response.fields, of: url, document: document) { name, reason in
            log?("cookie refused: \(name.isEmpty ? "(no name)" : name): \(reason.rawValue)")
        }
    }
}
