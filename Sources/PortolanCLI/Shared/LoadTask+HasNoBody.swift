// SPDX-License-Identifier: Apache-2.0

import HTTPTypes
import Portolan

extension LoadTask {
    /// Whether the response has no body, because the method is HEAD. Bytes that a handler delivers nevertheless are
    /// ignored (RFC 9110 §9.3.2).
    var hasNoBody: Bool { originalRequest.method == .head }
}
