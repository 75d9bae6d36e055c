// SPDX-License-Identifier: Apache-2.0

package import HTTPTypes

extension Request {
    /// Fields that say something of a body that is not sent any more (Fetch Standard, "request-body-header name").
    private static let bodyFields: [HTTPField.Name] = [.contentEncoding, .contentLanguage, .contentLocation, .contentType, .contentLength]

    /// The request that a response leads to; `nil` where it leads nowhere, or says so in a way that can't be read.
    ///
    /// RFC 9110 §15.4
    package func redirected(by response: Response) -> Request? {
        // What becomes of a target that does not parse, the loader decides.
        guard case .url(let url) = RedirectTarget(of: response) else { return nil }
        return redirected(to: url, status: response.status)
    }

    /// The request that a redirect of this status leads to; without one, this request with another URL.
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
