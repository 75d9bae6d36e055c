// SPDX-License-Identifier: Apache-2.0

/// The state of a binding's load that other threads use to stop and resume it.
struct BindingLoadState: Hashable {
    enum Phase: Hashable { case created, queued, running, ended }

    private(set) var phase = Phase.created
    private(set) var isStopped = false
    /// Whether the reader is ready again. Set once for each pause, possibly before the load's thread sees the pause.
    private(set) var isResumed = false
    /// Whether a library function is running that the stop function can end.
    private var isInCall = false
    private var isStopCalled = false
    /// Whether the stop function is running on another thread.
    private(set) var isStopping = false

    /// - Returns: Whether the load needs a thread.
    mutating func start() -> Bool {
        guard phase == .created else { return false }
        phase = isStopped ? .ended : .queued
        return phase == .queued
    }

    /// - Returns: Whether to run the steps.
    mutating func beginRunning() -> Bool {
        guard phase == .queued, !isStopped else { return false }
        phase = .running
        return true
    }

    mutating func end() {
        phase = .ended
    }

    /// - Returns: Whether to call the stop function.
    mutating func stop() -> Bool {
        isStopped = true
        guard isInCall, !isStopCalled else { return false }
        (isStopCalled, isStopping) = (true, true)
        return true
    }

    mutating func stopDidReturn() { isStopping = false }

    /// Records the start of a call that the stop function can end.
    ///
    /// - Returns: Whether to make the call. `false` if the load is stopped.
    mutating func beginCall() -> Bool {
        isInCall = !isStopped
        return isInCall
    }

    /// - Returns: Whether the load's thread may continue. `false` while the stop function runs, because its arguments
    ///   must stay valid.
    mutating func endCall() -> Bool {
        isInCall = false
        return !isStopping
    }

    mutating func resume() { isResumed = true }

    /// Returns whether the reader is ready again, and resets that state for the next pause.
    mutating func consumeResume() -> Bool {
        defer { isResumed = false }
        return isResumed
    }
}
