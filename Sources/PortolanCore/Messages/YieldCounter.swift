// SPDX-License-Identifier: Apache-2.0

/// Counts the steps that a task takes without being suspended, so that it can let other tasks of its executor run from
/// time to time.
struct YieldCounter {
    private static let most = 16
    private var count = 0

    /// Counts a step that is about to be taken.
    ///
    /// - Returns: whether `Task.yield()` is due before it.
    mutating func next() -> Bool {
        count += 1
        guard count > Self.most else { return false }
        count = 1
        return true
    }

    /// The task is suspended for this step.
    mutating func suspended() { count = 0 }
}
