// SPDX-License-Identifier: Apache-2.0

extension Judge {
    /// How the opening of a plugin ended.
    package enum Opening: Hashable, Sendable {
        /// With these problems, or none.
        case returned([String])
        /// Without a return: the process ended or hung, and how.
        case ended(String)
    }

    /// Opens the plugin in a process of its own, as a check is made: what it prints, starts or ends there reaches no further.
    ///
    /// - Parameter open: opens it, and gives what is wrong with it.
    /// - Throws: where this process has other threads, and where no temporary folder can be made.
    package func opening(by open: @escaping @Sendable () -> [String]) throws -> Opening {
        let check = ConformanceCheck("MANIF-01", needsProcess: true) { trial throws(Unjudged) in trial.fail(open()) }
        var opening = Opening.ended("no process could be made")
        try judge([check], jobs: 1) { result in
            guard result.rule == check.rule else { return }
            switch result.verdict {
            case .passed, .warned, .failed: opening = .returned(result.findings.map(\.detail))
            case .crashed: opening = .ended("opening the library ended the process: \(result.note ?? "")")
            case .hung: opening = .ended("opening the library takes too long: \(result.note ?? "")")
            case .skipped: opening = .ended("it could not be opened in a process of its own: \(result.note ?? "")")
            }
        }
        return opening
    }
}
