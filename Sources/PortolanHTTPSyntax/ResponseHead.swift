// SPDX-License-Identifier: Apache-2.0

package import HTTPTypes

/// The head of a response: status line and fields, and what the fields say about framing.
package struct ResponseHead: Sendable {
    /// Of HTTP/1: 0 or 1. What says it is later counts as 1 (RFC 9110 §2.5).
    let minorVersion: Int
    /// Three digits: 0…999. What is not within 100…599 is to be taken as a 5xx is (RFC 9110 §15).
    package let status: Int
    /// ISO-8859-1; empty where there is none. It says nothing that counts.
    package let reason: String
    /// In the order received, names spelled as received; a field that repeats stays repeated.
    package let fields: HTTPFields
    package let framing: FramingFields

    package init(minorVersion: Int, status: Int, reason: String, fields: HTTPFields, framing: FramingFields) {
        self.minorVersion = minorVersion
        self.status = status
        self.reason = reason
        self.fields = fields
        self.framing = framing
    }

    /// Whether another head follows: 1xx, though not 101, after which no HTTP/1.1 does.
    package var isInterim: Bool { (100..<200).contains(status) && status != 101 }

    package var httpStatus: HTTPResponse.Status { HTTPResponse.Status(code: status, reasonPhrase: reason) }
}
