// SPDX-License-Identifier: Apache-2.0

import HTTPTypes
import Portolan

/// The body of a request, with the fields that describe it.
struct RequestBody: Sendable {
    let body: Body
    /// Sent unless `-H` gives them.
    var fields: [HTTPField] = []
    /// The boundary of a form; `nil` for another body.
    var boundary: String?
}
