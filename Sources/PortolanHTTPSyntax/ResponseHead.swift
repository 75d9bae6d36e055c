// SPDX-License-Identifier: Apache-2.0

package import HTTPTypes

/// The head of a response: the status line and the fields.
package struct ResponseHead: Sendable {
    private let majorVersion: Int
    /// The minor version of HTTP/1: 0 or 1. Later minor versions count as 1 (RFC 9110 §2.5).
    let minorVersion: Int
    /// 0…999, as received. A status outside of 100…599 is not treated like a 5xx status, although RFC 9110 §15
    /// recommends that.
    package let status: Int
    /// The reason phrase, decoded as ISO-8859-1; empty if there is none. The protocol does not use it.
    package let reason: String
    /// In the order received, with names spelled as received. Fields with the same name stay separate.
    package let fields: HTTPFields
    package let framing: FramingFields

    package init(
        majorVersion: Int = 1, minorVersion: Int, status: Int, reason: String, fields: HTTPFields, framing: FramingFields
    ) {
        self.majorVersion = majorVersion
        self.minorVersion = minorVersion
        self.status = status
        self.reason = reason
        self.fields = fields
        self.framing = framing
    }

    /// Whether another head follows. True for 1xx except 101, because no HTTP/1.1 follows a 101.
    package var isInterim: Bool { (100..<200).contains(status) && status != 101 }

    /// `1.0`, `1.1` or `2`.
    package var version: String { majorVersion == 1 ? minorVersion == 0 ? "1.0" : "1.1" : "\(majorVersion)" }

    package var httpStatus: HTTPResponse.Status { HTTPResponse.Status(code: status, reasonPhrase: reason) }
}
