// SPDX-License-Identifier: Apache-2.0

import PortolanCore

/// How to mend a response that breaks a rule.
enum ResponseRemedy: Sendable, Hashable {
    /// A limit was met: the setting's name, as in `HTTPLimits.fieldLine`.
    case raise(String)
    /// A clause for the message.
    case advice(String)

    var words: String {
        switch self {
        case .raise(let limit): LoadError.Remedy.raiseLimit(limit).words
        case .advice(let clause): clause
        }
    }

    /// `nil` where no setting mends it.
    var setting: LoadError.Remedy? {
        if case .raise(let limit) = self { .raiseLimit(limit) } else { nil }
    }
}
