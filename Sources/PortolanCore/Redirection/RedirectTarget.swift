// SPDX-License-Identifier: Apache-2.0

import HTTPTypes

/// The redirect target that a response specifies.
///
/// Fetch Standard, "location URL" and "redirect status"; RFC 9110 §15.4, §10.2.2
package enum RedirectTarget: Sendable {
    /// The status is not that of a redirect.
    case noRedirect
    /// A redirect without a target, or with an empty one. It is delivered like other responses, as in curl.
    case unnamed
    case url(URLRecord)
    /// The target is not a URL. The text is a clause for a message, and quotes the value.
    case malformed(String)
    /// The response has several different targets. The text is a clause for a message.
    case ambiguous(String)

    package init(of response: Response) {
        guard let status = response.status, Self.isRedirect(status) else {
            self = .noRedirect
            return
        }
        let values = response.fields[fields: .location].map(Self.text)
        guard let location = values.first else {
            self = .unnamed
            return
        }
        guard !values.allSatisfy(\.isEmpty) else {
            self = .unnamed
            return
        }
        guard values.allSatisfy({ $0 == location }) else {
            self = .ambiguous("it has \(values.count) Location fields with different values")
            return
        }
        do throws(URLSyntaxError) {
            self = .url(try URLRecord(parsing: location, relativeTo: response.url))
        } catch {
            self = .malformed(error.description)
        }
    }

    /// Returns the field's value as text. If it is not UTF-8, each byte that is not ASCII is percent-encoded.
    private static func text(of field: HTTPField) -> String {
        unsafe field.withUnsafeBytesOfValue { bytes in
            if let text = unsafe String(validating: bytes, as: UTF8.self) { return text }
            return unsafe bytes.reduce(into: "") { text, byte in
                if byte < 0x80 {
                    text.unicodeScalars.append(Unicode.Scalar(byte))
                } else {
                    text += "%" + String(byte, radix: 16, uppercase: true)
                }
            }
        }
    }

    private static func isRedirect(_ status: HTTPResponse.Status) -> Bool {
        switch status.code {
        case 301, 302, 303, 307, 308: true
        default: false
        }
    }
}
