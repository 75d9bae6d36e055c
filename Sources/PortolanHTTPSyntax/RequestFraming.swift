// SPDX-License-Identifier: Apache-2.0

package import HTTPTypes
package import PortolanCore

/// How the body of a request is marked off.
///
/// RFC 9112 §6; RFC 9110 §8.6
package enum RequestFraming: Equatable {
    /// No body, and nothing said of one.
    case none
    /// `Content-Length`; 0 for a method that usually has a body and here has none.
    case length(Int64)
    /// `Transfer-Encoding: chunked`, for a body whose length is not known beforehand.
    case chunked

    package init(method: HTTPRequest.Method, body: Body?) {
        guard let body else {
            self = Self.usuallyHaveBodies.contains(method) ? .length(0) : .none
            return
        }
        self = body.length.map { .length($0) } ?? .chunked
    }

    private static let usuallyHaveBodies: [HTTPRequest.Method] = [.post, .put, .patch]

    /// Whether there are bytes to send after the head.
    package var hasBody: Bool {
        switch self {
        case .none, .length(0): false
        case .length, .chunked: true
        }
    }
}
