// SPDX-License-Identifier: Apache-2.0

package import HTTPTypes

extension HTTPRequest.Method {
    /// Whether the method requests no change (RFC 9110 §9.2.1).
    package var isSafe: Bool {
        switch self {
        case .get, .head, .options, .trace: true
        default: false
        }
    }

    /// Whether sending it twice has the same effect as sending it once (RFC 9110 §9.2.2).
    package var isIdempotent: Bool { isSafe || self == .put || self == .delete }
}
