// SPDX-License-Identifier: Apache-2.0

package import PortolanCore

/// What the user can do about an invalid response.
package enum ResponseRemedy: Sendable, Hashable {
    /// The name of the limit that the response exceeds, such as `HTTPLimits.maximumFieldLineBytes`.
    case raiseLimit(String)
    /// Text to append to the error message.
    case advice(String)

    /// The text to append to the error message.
    package var phrase: String {
        switch self {
        case .raiseLimit(let limit): LoadError.Remedy.raiseLimit(limit).phrase
        case .advice(let clause): clause
        }
    }

    /// `nil` if no setting helps.
    package var loadErrorRemedy: LoadError.Remedy? {
        if case .raiseLimit(let limit) = self { .raiseLimit(limit) } else { nil }
    }
}
