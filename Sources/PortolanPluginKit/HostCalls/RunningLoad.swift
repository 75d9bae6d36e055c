// SPDX-License-Identifier: Apache-2.0

import CPortolan

/// One load, from `make` until `destroy` has returned. A task of the plugin's author can retain it longer.
///
/// Each client call becomes an *attempt*: a function that runs inside a host call into the load, and returns either a
/// value or the reason to wait. The tasks of the load always run inside a host call, so an attempt only compares the
/// current thread with that of the host call. Attempts from other tasks run in the next host call.
@safe
final class RunningLoad: @unchecked Sendable {  // … because variables are used only in host calls, which are serial
    /// The result of an attempt.
    enum AttemptResult<Value: Sendable>: Sendable {
        case done(Value)
        case wait(WaitReason)
    }

    let instance: PluginInstance
    let request: PluginRequest
    /// The stored response that the load can confirm.
    let cachedResponse: PluginResponse?
    let executor: HostCallExecutor
    private let client: BorrowedClient
    private var task: Task<Void, Never>?

    // The following variables are used only inside a host call.
    /// Checks the order of the load's events.
    var order: PluginEventStateMachine
    var isPaused = false
    private(set) var isEnded = false
    private var waiters = Waiters()
    /// The number of calls of `woken`.
    private var wakeCount: UInt64 = 0
    var hasOpenChallenge = false
    /// The answer to the open challenge. `nil` until it arrives.
    var challengeAnswer: PluginChallengeAnswer?
    private var bytesInHostCall = 0
    private var eventsInHostCall = 0

    init(_ instance: PluginInstance, _ request: PluginRequest, cachedResponse: PluginResponse?, client: BorrowedClient) {
        self.instance = instance
        self.request = request
        self.cachedResponse = cachedResponse
        self.client = client
        executor = HostCallExecutor(client)
        order = PluginEventStateMachine(
            isMultipart: instance.isMultipart, isHeadOnly: request.method == "HEAD", uploadLength: request.bodyLength)
    }

    // MARK: Calls by the host, [serial]

    /// Starts the task that runs the author's load function.
    func start(_ loadFunction: @escaping @Sendable (RunningLoad) async throws -> Void) {
        runHostCall {
            task = Task(executorPreference: executor) { [self] in
                do {
                    try await loadFunction(self)
                    await taskDidEnd(error: nil)
                } catch {
                    await taskDidEnd(error: PluginError(error))
                }
            }
        }
    }

    func resume() {
        runHostCall {
            isPaused = false
            waiters.resume { $0 == .pause }
        }
    }

    func woken() {
        runHostCall {
            wakeCount &+= 1
            waiters.resume { if case .woken = $0 { true } else { false } }
        }
    }

    func answered(_ answer: PluginChallengeAnswer) {
        runHostCall {
            guard hasOpenChallenge else { return }
            challengeAnswer = answer
            waiters.resume { $0 == .answer }
        }
    }

    func stop() {
        endLoad()
    }

    func destroy() {
        executor.close {
            endLoad()
            task = nil
        }
    }

    private func runHostCall(_ operation: () -> Void) {
        bytesInHostCall = 0
        eventsInHostCall = 0
        executor.runHostCall(operation)
    }

    /// Cancels the task and resumes all waiting calls, because the load has ended or the host has stopped it.
    private func endLoad() {
        isEnded = true
        order.end()
        challengeAnswer = nil
        task?.cancel()
        waiters.resume { _ in true }
    }

    // MARK: Attempts

    /// Repeats an attempt until it returns a value.
    ///
    /// - Parameter onCancel: called inside a host call if the task was cancelled while it waited.
    /// - Throws: `CancellationError` if the load has ended, or if the task was cancelled while it waited; otherwise the
    ///   error of the attempt.
    func perform<Value>(
        onCancel: (@Sendable (RunningLoad, BorrowedClient) -> Void)? = nil,
        _ attempt: @escaping @Sendable (RunningLoad, BorrowedClient) throws -> AttemptResult<Value>
    ) async throws -> Value {
        while true {
            switch try await run(attempt) {
            case .done(let value): return value
            case .wait(let reason): await suspend(while: reason)
            }
            guard Task.isCancelled else { continue }
            if let onCancel {
                executor.perform { [self] isOpen in
                    if isOpen, !isEnded { onCancel(self, client) }
                }
            }
            throw CancellationError()
        }
    }

    private func run<Value>(
        _ attempt: @escaping @Sendable (RunningLoad, BorrowedClient) throws -> AttemptResult<Value>
    ) async throws -> AttemptResult<Value> {
        if executor.isInHostCall { return try runInHostCall(attempt) }
        return try unsafe await withUnsafeThrowingContinuation { continuation in
            executor.perform { [self] isOpen in
                unsafe continuation.resume(with: Result { try isOpen ? runInHostCall(attempt) : { throw CancellationError() }() })
            }
        }
    }

    private func runInHostCall<Value>(
        _ attempt: @Sendable (RunningLoad, BorrowedClient) throws -> AttemptResult<Value>
    ) throws -> AttemptResult<Value> {
        try checkNotStopped()
        return try attempt(self, client)
    }

    /// Throws if the host has stopped the load since the last call, for example from another thread (CANCEL-01).
    @inline(__always)
    private func checkNotStopped() throws {
        guard !isEnded else { throw CancellationError() }
        guard unsafe client.pointer.pointee.is_stopped(client.pointer) == 0 else {
            endLoad()
            throw CancellationError()
        }
    }

    /// Same as ``perform(onCancel:_:)`` for events: waits before and after the delivery while the reader is not ready.
    func deliver(_ attempt: @escaping @Sendable (RunningLoad, BorrowedClient) throws -> portolan_flow) async throws {
        try await perform { load, client -> AttemptResult<Void> in
            guard !load.isPaused else { return .wait(.pause) }
            try load.apply(attempt(load, client))
            return .done(())
        }
        try await waitWhilePaused()
    }

    func waitWhilePaused() async throws {
        try await perform { load, _ in load.isPaused ? .wait(.pause) : .done(()) }
    }

    /// Handles the host's flow decision for a delivery. Only inside a host call.
    func apply(_ flow: portolan_flow) throws {
        switch flow {
        case PORTOLAN_STOPPED:
            endLoad()
            throw CancellationError()
        case PORTOLAN_PAUSE: isPaused = true
        default: break
        }
    }

    /// The reason to wait after PORTOLAN_WAIT: the host has not called `woken` again. Only inside a host call.
    var untilNextWake: WaitReason { .woken(after: wakeCount) }

    // MARK: Body bytes

    /// Delivers bytes without waiting. Only inside a host call.
    ///
    /// - Returns: `false` if ``waitAfterDelivery()`` must follow, because the reader is not ready or this host call has
    ///   delivered enough.
    @inline(__always)
    func deliverNow(_ bytes: UnsafeRawBufferPointer) throws -> Bool {
        try checkNotStopped()
        try order.recordData(bytes.count)
        guard bytes.count > 0 else { return true }
        let flow = unsafe client.pointer.pointee.did_load(client.pointer, bytes.baseAddress, bytes.count)
        bytesInHostCall &+= bytes.count
        eventsInHostCall &+= 1
        guard flow == PORTOLAN_CONTINUE else {
            try apply(flow)
            return false
        }
        return bytesInHostCall < Self.byteLimit && eventsInHostCall < Self.eventLimit
    }

    /// Limits of bytes and events in one host call. When one is reached, the call returns to the host, and the host
    /// calls the load again.
    private static let byteLimit = 8 << 20
    private static let eventLimit = 4096

    /// Waits for the reader or for the next host call. Called after ``deliverNow(_:)`` has returned `false`.
    func waitAfterDelivery() async throws {
        if bytesInHostCall >= Self.byteLimit || eventsInHostCall >= Self.eventLimit, executor.isInHostCall, !isEnded {
            executor.endHostCallSoon()
            await suspend(while: untilNextWake)
        }
        try await waitWhilePaused()
    }

    // MARK: Waiting

    /// Suspends until the reason no longer applies, the task is cancelled, or the load ends.
    private func suspend(while reason: WaitReason) async {
        let waiter = Waiter()
        await withTaskCancellationHandler {
            unsafe await withUnsafeContinuation { continuation in
                executor.perform { [self] isOpen in
                    guard isOpen, !isEnded, !waiter.isResumed, shouldWait(for: reason) else { return unsafe continuation.resume() }
                    waiters.add(waiter, reason)
                    unsafe waiter.wait(continuation)
                }
            }
        } onCancel: {
            executor.perform { [self] isOpen in
                guard isOpen else { return }
                waiters.remove(waiter)
                waiter.resume()
            }
        }
    }

    private func shouldWait(for reason: WaitReason) -> Bool {
        switch reason {
        case .pause: isPaused
        case .woken(let count): count == wakeCount
        case .answer: hasOpenChallenge && challengeAnswer == nil
        }
    }

    // MARK: The end

    /// Ends the load after the author's function has returned or thrown. If the function cancelled its own task,
    /// another task reports the end.
    private func taskDidEnd(error: PluginError?) async {
        guard !Task.isCancelled else {
            Task(executorPreference: executor) { [self] in await reportEnd(error) }
            return
        }
        await reportEnd(error)
    }

    private func reportEnd(_ error: PluginError?) async {
        _ = try? await perform { load, client -> AttemptResult<Void> in  // because it throws only if the load has already ended
            var failure = error
            if failure == nil {
                if load.isPaused, load.order.phase != .beforeResponse { return .wait(.pause) }
                do throws(PluginError) { try load.order.finish() } catch { failure = error }
            }
            if let failure {
                let arena = Arena()
                var cError = unsafe arena.error(failure)
                unsafe client.pointer.pointee.did_fail(client.pointer, &cError)
                withExtendedLifetime(arena) {}
            } else {
                unsafe client.pointer.pointee.did_finish(client.pointer)
            }
            load.endLoad()
            return .done(())
        }
    }
}
