// SPDX-License-Identifier: Apache-2.0

package import PortolanCore

/// How to mend a response that breaks a rule.
package enum ResponseRemedy: Sendable, Hashable {
    /// A limit was met: the setting's name, as in `HTTPLimits.fieldLine`.
    case raise(String)
    /// A clause for the message.
    case advice(String)

    package var words: String {
        switch self {
        case .raise(let limit): LoadError.Remedy.raiseLimit(limit).words
        case .advice(let clause): clause
        }
    }

    /// `nil` where no setting mends it.
    package var setting: LoadError.Remedy? {
        if case .raise(let limit) = self { .raiseLimit(limit) } else { nil }
    }
}
