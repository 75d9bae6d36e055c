// SPDX-License-Identifier: Apache-2.0

/// The state of a bound load, as far as other threads may stop it.
struct BindingLoadState: Hashable {
    enum Phase: Hashable { case made, queued, running, over }

    private(set) var phase = Phase.made
    private(set) var isStopped = false
    /// The reader can take more. Set once for each pause, possibly before the load's thread sees the pause.
    private(set) var isResumed = false
    /// A library function is running that the stop function may end.
    private var isInCall = false
    private var isStopCalled = false
    /// The stop function is running on another thread.
    private(set) var isStopping = false

    /// - Returns: Whether the load needs a thread.
    mutating func start() -> Bool {
        guard phase == .made else { return false }
        phase = isStopped ? .over : .queued
        return phase == .queued
    }

    /// - Returns: Whether the steps may run.
    mutating func enter() -> Bool {
        guard phase == .queued, !isStopped else { return false }
        phase = .running
        return true
    }

    mutating func end() {
        phase = .over
    }

    /// - Returns: Whether to call the stop function.
    mutating func stop() -> Bool {
        isStopped = true
        guard isInCall, !isStopCalled else { return false }
        (isStopCalled, isStopping) = (true, true)
        return true
    }

    mutating func stopReturned() { isStopping = false }

    /// Records the begin of a call that the stop function may end.
    ///
    /// - Returns: Whether the call may be made.
    mutating func enterCall() -> Bool {
        isInCall = !isStopped
        return isInCall
    }

    /// - Returns: `false` while the stop function runs, because its arguments must stay valid.
    mutating func leaveCall() -> Bool {
        isInCall = false
        return !isStopping
    }

    mutating func resume() { isResumed = true }

    mutating func takeResumed() -> Bool {
        defer { isResumed = false }
        return isResumed
    }
}
