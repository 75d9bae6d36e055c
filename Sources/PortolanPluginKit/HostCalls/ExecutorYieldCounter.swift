// SPDX-License-Identifier: Apache-2.0

/// Counts the pieces that a task reads, so that the task yields to other tasks of its load from time to time, even if
/// it never has to wait.
struct ExecutorYieldCounter {
    private static let most = 64
    private var count = 0

    /// Counts a piece before it is read.
    ///
    /// - Returns: whether the task must call `Task.yield()` first.
    mutating func next() -> Bool {
        count += 1
        guard count > Self.most else { return false }
        count = 1
        return true
    }
}
