// SPDX-License-Identifier: Apache-2.0

import HTTPTypes

/// Where a response says that its resource lies.
///
/// Fetch Standard, "location URL" and "redirect status"; RFC 9110 §15.4, §10.2.2
package enum RedirectTarget: Sendable {
    /// The status is none of a redirect's.
    case noRedirect
    /// A redirect that does not say where it leads: a response like any other.
    case unnamed
    case url(URLRecord)
    /// What can't be followed, as a clause for a message that quotes the value, shortened.
    case malformed(String)

    package init(of response: Response) {
        guard let status = response.status, Self.isRedirect(status) else {
            self = .noRedirect
            return
        }
        let values = response.fields[values: .location]
        guard let location = values.first else {
            self = .unnamed
            return
        }
        guard values.allSatisfy({ $0 == location }) else {
            self = .malformed("its Location is given \(values.count) times, with several values")
            return
        }
        do throws(URLSyntaxError) {
            self = .url(try URLRecord(parsing: location, relativeTo: response.url))
        } catch {
            self = .malformed(error.description)
        }
    }

    private static func isRedirect(_ status: HTTPResponse.Status) -> Bool {
        switch status.code {
        case 301, 302, 303, 307, 308: true
        default: false
        }
    }
}
