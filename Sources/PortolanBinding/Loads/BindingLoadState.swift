// SPDX-License-Identifier: Apache-2.0

/// What a bound load is doing, as far as others may stop it.
struct BindingLoadState: Hashable {
    enum Phase: Hashable { case made, queued, running, over }

    private(set) var phase = Phase.made
    private(set) var isStopped = false
    /// The reader wants more; comes once for each pause, perhaps before the pause is seen here.
    private(set) var isResumed = false
    /// A function of the library runs that the stop function may end.
    private var isInCall = false
    private var isStopCalled = false
    /// The stop function runs, on another thread.
    private(set) var isStopping = false

    /// - Returns: whether to find a thread.
    mutating func start() -> Bool {
        guard phase == .made else { return false }
        phase = isStopped ? .over : .queued
        return phase == .queued
    }

    /// - Returns: whether to run.
    mutating func enter() -> Bool {
        guard phase == .queued, !isStopped else { return false }
        phase = .running
        return true
    }

    mutating func end() {
        phase = .over
    }

    /// - Returns: whether to call the stop function.
    mutating func stop() -> Bool {
        isStopped = true
        guard isInCall, !isStopCalled else { return false }
        (isStopCalled, isStopping) = (true, true)
        return true
    }

    mutating func stopReturned() { isStopping = false }

    /// A call begins that the stop function may end.
    ///
    /// - Returns: whether it may be made.
    mutating func enterCall() -> Bool {
        isInCall = !isStopped
        return isInCall
    }

    /// - Returns: `false` while the stop function runs: what it uses has to stay.
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
