// SPDX-License-Identifier: Apache-2.0

/// The readable entries of a recording, and the problems of the others. One invalid entry does not affect the others.
struct ReadEntries {
    private(set) var transactions: [Transaction] = []
    private(set) var problems: [ErrorLocation.Problem] = []

    /// - Parameter entry: reads the transactions of one entry.
    mutating func read(_ entry: () throws(ErrorLocation.Problem) -> [Transaction]) {
        do throws(ErrorLocation.Problem) { transactions += try entry() } catch { problems.append(error) }
    }
}
