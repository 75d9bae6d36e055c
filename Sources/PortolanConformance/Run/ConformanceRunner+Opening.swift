// SPDX-License-Identifier: Apache-2.0

extension ConformanceRunner {
    /// How the opening of a plugin ended.
    package enum Opening: Hashable, Sendable {
        /// The call returned these problems, or none.
        case returned([String])
        /// The process ended or hung before the call returned; the text says how.
        case ended(String)
    }

    /// Opens the plugin in a separate process, like a check. So its output, its processes and its exit do not affect
    /// this process.
    ///
    /// - Parameter open: Opens the plugin, and returns its problems.
    /// - Throws: If this process has other threads, or if no temporary folder can be made.
    package func opening(by open: @escaping @Sendable () -> [String]) throws -> Opening {
        guard let rule = RuleCatalogue.rule("MANIF-01") else { preconditionFailure("no rule MANIF-01 is in the catalogue") }
        let check = ConformanceCheck(rule, needsProcess: true) { context throws(CheckSkipped) in context.fail(open()) }
        var opening = Opening.ended("no process could be created")
        try run([check], jobs: 1) { result in
            guard result.rule == check.rule else { return }
            switch result.verdict {
            case .passed, .warned, .failed: opening = .returned(result.findings.map(\.detail))
            case .crashed: opening = .ended("opening the library ended the process: \(result.note ?? "")")
            case .hung: opening = .ended("opening the library takes too long: \(result.note ?? "")")
            case .skipped: opening = .ended("the library could not be opened in a separate process: \(result.note ?? "")")
            }
        }
        return opening
    }
}
