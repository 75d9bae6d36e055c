// SPDX-License-Identifier: Apache-2.0

package import PortolanCore

/// How to fix a response that breaks a rule.
package enum ResponseRemedy: Sendable, Hashable {
    /// Raise the limit that was exceeded. The value is the setting's name, such as `HTTPLimits.maximumFieldLineBytes`.
    case raise(String)
    /// A clause for the message.
    case advice(String)

    package var phrase: String {
        switch self {
        case .raise(let limit): LoadError.Remedy.raiseLimit(limit).phrase
        case .advice(let clause): clause
        }
    }

    /// `nil` if no setting fixes it.
    package var setting: LoadError.Remedy? {
        if case .raise(let limit) = self { .raiseLimit(limit) } else { nil }
    }
}
