// SPDX-License-Identifier: Apache-2.0

/// Counts the pieces that a task reads. The task yields after every 64 pieces, so that other tasks of its load also run
/// if it never has to wait.
struct ExecutorYieldCounter {
    private static let pieceLimit = 64
    private var count = 0

    /// Counts a piece. Call this before the task reads it.
    ///
    /// - Returns: whether the task must call `Task.yield()` first.
    mutating func shouldYield() -> Bool {
        count += 1
        guard count > Self.pieceLimit else { return false }
        count = 1
        return true
    }
}
