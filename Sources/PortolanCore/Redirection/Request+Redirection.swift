// SPDX-License-Identifier: Apache-2.0

package import HTTPTypes

extension Request {
    /// Fields that describe a body that is no longer sent (Fetch Standard, "request-body-header name").
    private static let bodyFields: [HTTPField.Name] = [.contentEncoding, .contentLanguage, .contentLocation, .contentType, .contentLength]

    /// Returns the request that a response redirects to; `nil` if it redirects nowhere, or if its target cannot be
    /// read.
    ///
    /// RFC 9110 §15.4
    package func redirected(by response: Response) -> Request? {
        // The loader decides about a target that does not parse.
        guard case .url(let url) = RedirectTarget(of: response) else { return nil }
        return redirected(to: url, status: response.status)
    }

    /// Returns the request that a redirect with this status leads to. Without a status, returns this request with
    /// another URL.
    ///
    /// Fetch Standard, "HTTP-redirect fetch"
    package func redirected(to url: URLRecord, status: HTTPResponse.Status?) -> Request {
        var next = self
        next.url = url
        let turnsToGet =
            switch status?.code {
            case 301, 302: method == .post
            case 303: method != .get && method != .head
            default: false
            }
        if turnsToGet {
            next.method = .get
            next.body = nil
            for name in Self.bodyFields { next.fields[name] = nil }
        }
        return next
    }
}
