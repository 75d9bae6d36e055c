// SPDX-License-Identifier: Apache-2.0

/// Counts the pieces that a task reads, so that it lets other tasks of its load run from time to time, also where it never has to wait.
struct ExecutorYieldCounter {
    private static let most = 64
    private var count = 0

    /// Counts a piece that is about to be read.
    ///
    /// - Returns: whether `Task.yield()` is due before it.
    mutating func next() -> Bool {
        count += 1
        guard count > Self.most else { return false }
        count = 1
        return true
    }
}
