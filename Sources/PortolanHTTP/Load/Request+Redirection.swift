// SPDX-License-Identifier: Apache-2.0

import HTTPTypes
import PortolanCore

extension Request {
    /// Fields that say something of a body that is not sent any more (Fetch Standard, "request-body-header name").
    private static let bodyFields: [HTTPField.Name] = [.contentEncoding, .contentLanguage, .contentLocation, .contentType, .contentLength]

    /// The request that a response leads to; `nil` where it leads nowhere, or says so in a way that can't be read.
    ///
    /// RFC 9110 §15.4; of methods as the Fetch Standard has it, "HTTP-redirect fetch"
    func redirected(by response: Response) -> Request? {
        // What becomes of a target that does not parse, the loader decides.
        guard let status = response.status?.code, case .url(let url) = RedirectTarget(of: response) else { return nil }
        var next = self
        next.url = url
        let turnsToGet =
            switch status {
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
