// SPDX-License-Identifier: Apache-2.0

/// What could be read of a recording's entries, and what could not: one that is wrong does not lose the others.
struct ReadEntries {
    private(set) var exchanges: [Exchange] = []
    private(set) var problems: [ErrorLocation.Problem] = []

    /// - Parameter entry: gives the exchanges of one entry.
    mutating func read(_ entry: () throws(ErrorLocation.Problem) -> [Exchange]) {
        do throws(ErrorLocation.Problem) { exchanges += try entry() } catch { problems.append(error) }
    }
}
