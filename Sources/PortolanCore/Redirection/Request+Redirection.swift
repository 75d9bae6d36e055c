// SPDX-License-Identifier: Apache-2.0

package import HTTPTypes

extension Request {
    /// The fields that describe the body, and `Expect`, which needs a body. They are removed with the body.
    ///
    /// Fetch Standard, "request-body-header name"; RFC 9110 §10.1.1, §15.4; RFC 9530
    package static let bodyFields: [HTTPField.Name] =
        [.contentEncoding, .contentLanguage, .contentLocation, .contentType, .contentLength, .lastModified, .expect]
        + ["Digest", "Content-Digest", "Repr-Digest"].compactMap { HTTPField.Name($0) }

    /// Returns the request to which a response redirects; `nil` if the response is not a redirect, or if its target is
    /// not a URL.
    ///
    /// RFC 9110 §15.4
    package func redirected(by response: Response) -> Request? {
        // A malformed target is handled later by RedirectPolicy.error(for:).
        guard case .url(let url) = RedirectTarget(of: response) else { return nil }
        return redirected(to: url, status: response.status)
    }

    /// Returns the request to which a redirect with this status leads. Without a status, only the URL changes.
    ///
    /// Fetch Standard, "HTTP-redirect fetch"
    package func redirected(to url: URLRecord, status: HTTPResponse.Status?) -> Request {
        var next = self
        next.url = url
        let becomesGet =
            switch status?.code {
            case 301, 302: method == .post
            case 303: method != .get && method != .head
            default: false
            }
        if becomesGet {
            next.method = .get
            next.body = nil
            for name in Self.bodyFields { next.fields[name] = nil }
        }
        return next
    }
}
