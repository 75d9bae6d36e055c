// SPDX-License-Identifier: Apache-2.0

package import HTTPTypes

/// The head of a response: status line, fields, and the framing information in the fields.
package struct ResponseHead: Sendable {
    /// The minor version of HTTP/1: 0 or 1. Later minor versions count as 1 (RFC 9110 §2.5).
    let minorVersion: Int
    /// Three digits: 0…999. A status outside of 100…599 is to be treated like a 5xx status (RFC 9110 §15).
    package let status: Int
    /// Decoded as ISO-8859-1; empty if there is none. It has no meaning for the protocol.
    package let reason: String
    /// In the order received, with names spelled as received. Repeated fields stay repeated.
    package let fields: HTTPFields
    package let framing: FramingFields

    package init(minorVersion: Int, status: Int, reason: String, fields: HTTPFields, framing: FramingFields) {
        self.minorVersion = minorVersion
        self.status = status
        self.reason = reason
        self.fields = fields
        self.framing = framing
    }

    /// Whether another head follows. True for 1xx except 101, after which no HTTP/1.1 follows.
    package var isInterim: Bool { (100..<200).contains(status) && status != 101 }

    package var httpStatus: HTTPResponse.Status { HTTPResponse.Status(code: status, reasonPhrase: reason) }
}
