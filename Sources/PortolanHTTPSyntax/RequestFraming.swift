// SPDX-License-Identifier: Apache-2.0

package import HTTPTypes
package import PortolanCore

/// How a request tells the server where its body ends.
///
/// RFC 9112 §6; RFC 9110 §8.6
package enum RequestFraming: Equatable {
    /// No body, and no field about a body.
    case none
    /// `Content-Length`. It is 0 if the method usually has a body, but this request has none.
    case length(Int64)
    /// `Transfer-Encoding: chunked`, for a body of unknown length.
    case chunked

    package init(method: HTTPRequest.Method, body: Body?) {
        guard let body else {
            self = Self.methodsWithBody.contains(method) ? .length(0) : .none
            return
        }
        self = body.length.map { .length($0) } ?? .chunked
    }

    private static let methodsWithBody: [HTTPRequest.Method] = [.post, .put, .patch]

    /// Whether there are bytes to send after the head.
    package var hasBody: Bool {
        switch self {
        case .none, .length(0): false
        case .length, .chunked: true
        }
    }
}
