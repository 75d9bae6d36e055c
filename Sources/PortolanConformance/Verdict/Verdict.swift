// SPDX-License-Identifier: Apache-2.0

/// What a check came to.
public enum Verdict: String, Hashable, Sendable, CaseIterable {
    case passed, failed, warned
    /// It could not be judged, and the reason is told; never a pass.
    case skipped
    /// The process that ran the check was ended by a signal, or ended itself.
    case crashed
    /// The check did not come back within its time.
    case hung

    /// Whether the plugin fails for it.
    public var isFailure: Bool {
        switch self {
        case .failed, .crashed, .hung: true
        case .passed, .warned, .skipped: false
        }
    }
}
