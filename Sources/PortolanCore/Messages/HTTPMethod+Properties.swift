// SPDX-License-Identifier: Apache-2.0

package import HTTPTypes

extension HTTPRequest.Method {
    /// Whether the method is safe: a request with it asks for no change on the server (RFC 9110 §9.2.1).
    package var isSafe: Bool {
        switch self {
        case .get, .head, .options, .trace: true
        default: false
        }
    }

    /// Whether the method is idempotent: two requests have the same effect as one (RFC 9110 §9.2.2).
    package var isIdempotent: Bool { isSafe || self == .put || self == .delete }

    /// Whether a standard defines the method for HTTP in general (RFC 9110 §9.3, RFC 5789). Extensions such as WebDAV
    /// define others.
    package var isStandard: Bool {
        switch self {
        case .get, .head, .post, .put, .delete, .connect, .options, .trace, .patch: true
        default: false
        }
    }
}
