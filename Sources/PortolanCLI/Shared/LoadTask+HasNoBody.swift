// SPDX-License-Identifier: Apache-2.0

import HTTPTypes
import Portolan

extension LoadTask {
    /// Whether the head alone was asked for: bytes that a handler delivers all the same are no body (RFC 9110 §9.3.2).
    var hasNoBody: Bool { originalRequest.method == .head }
}
