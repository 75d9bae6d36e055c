// SPDX-License-Identifier: Apache-2.0

import PortolanConformance

/// The checks that `portolan check` did not run because of `--level`.
struct OmittedChecks {
    /// What the checks of each level examine.
    private static let subjects = [
        2: "single loads", 3: "order, cancellation and threads", 4: "stress, faults, leaks, and the use of network and files (SEC-07)",
        5: "performance",
    ]

    /// For example `Levels 4 and 5 were not run; --level 5 runs them (…)`.
    let line: String

    /// - Returns: `nil` at the highest level.
    init?(above level: Int) {
        guard level < 5 else { return nil }
        let levels = Array(level + 1...5)
        let subjects = levels.compactMap { Self.subjects[$0] }.joined(separator: "; ")
        let names = levels.count == 1 ? "Level 5 was" : "Levels \(levels.count == 2 ? "4 and 5" : "\(level + 1) to 5") were"
        line = "\(names) not run; --level 5 runs \(levels.count == 1 ? "it" : "them") (\(subjects))"
    }

    /// - Parameters:
    ///   - categories: the categories that the user has named. Only their checks count.
    ///   - ids: the checks that the user has named, which run at every level.
    /// - Returns: `nil` if every check of these categories ran.
    init?(above level: Int, categories: [String], except ids: [String]) {
        let rules = ConformanceCheck.all.map(\.rule).filter {
            $0.level > level && categories.contains($0.category) && !ids.contains($0.id)
        }
        guard let highest = rules.map(\.level).max() else { return nil }
        let names = rules.map(\.id).joined(separator: ", ")
        line = "Not run, because of the level: \(names); --level \(highest) runs \(rules.count == 1 ? "it" : "them")"
    }
}
