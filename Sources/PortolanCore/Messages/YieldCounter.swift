// SPDX-License-Identifier: Apache-2.0

/// Counts the steps that a task takes without suspension. A task that never has to wait uses it to yield to other tasks
/// from time to time.
struct YieldCounter {
    private static let maximumSteps = 16
    private var count = 0

    /// Counts the next step.
    ///
    /// - Returns: whether the task must call `Task.yield()` before this step.
    mutating func countStep() -> Bool {
        count += 1
        guard count > Self.maximumSteps else { return false }
        count = 1
        return true
    }

    /// Restarts the count, because the task is suspended in this step.
    mutating func reset() { count = 0 }
}
