// SPDX-License-Identifier: Apache-2.0

/// The readable entries of a recording, and the problems of the others. One invalid entry does not affect the others.
struct ReadEntries {
    private(set) var exchanges: [Exchange] = []
    private(set) var problems: [ErrorLocation.Problem] = []

    /// - Parameter entry: reads the exchanges of one entry.
    mutating func read(_ entry: () throws(ErrorLocation.Problem) -> [Exchange]) {
        do throws(ErrorLocation.Problem) { exchanges += try entry() } catch { problems.append(error) }
    }
}
