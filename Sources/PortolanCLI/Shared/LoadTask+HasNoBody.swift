// SPDX-License-Identifier: Apache-2.0

import HTTPTypes
import Portolan

extension LoadTask {
    /// Whether the request asks only for the head. Bytes that a handler delivers nevertheless are no body (RFC 9110
    /// §9.3.2).
    var hasNoBody: Bool { originalRequest.method == .head }
}
