// SPDX-License-Identifier: Apache-2.0

import CPortolan

/// One load, from `make` until `destroy` has returned. A task of the plugin's author may retain it longer.
///
/// A client call of the author's tasks becomes an *attempt*: a function that runs inside a host call into the load, and
/// returns either a result or the reason to wait. The load's own tasks always run inside a host call, so their attempts
/// cost one comparison of threads. Attempts from other tasks run in the next host call.
@safe
final class RunningLoad: @unchecked Sendable {  // … because what is not constant is touched only in calls by the host, which are serial
    /// The result of an attempt.
    enum Attempt<Value: Sendable>: Sendable {
        case done(Value)
        case wait(WaitReason)
    }

    let instance: PluginInstance
    let request: PluginRequest
    let cached: PluginResponse?
    let executor: HostCallExecutor
    private let client: BorrowedClient
    private var task: Task<Void, Never>?

    // Only inside a host call.
    var order: PluginEventStateMachine
    var isPaused = false
    private(set) var isOver = false
    private var waiters = Waiters()
    /// The number of calls of `woken`.
    private var wakes: UInt64 = 0
    /// Whether a challenge is open, and its answer once it has arrived.
    var isAsking = false
    var answer: PluginAnswer?
    private var deliveredInTurn = 0
    private var eventsInTurn = 0

    init(_ instance: PluginInstance, _ request: PluginRequest, cached: PluginResponse?, client: BorrowedClient) {
        self.instance = instance
        self.request = request
        self.cached = cached
        self.client = client
        executor = HostCallExecutor(client)
        order = PluginEventStateMachine(
            isMultipart: instance.isMultipart, isHeadOnly: request.method == "HEAD", bodyLength: request.bodyLength)
    }

    // MARK: Calls by the host, [serial]

    func start(_ body: @escaping @Sendable (RunningLoad) async throws -> Void) {
        turn {
            task = Task(executorPreference: executor) { [self] in
                do {
                    try await body(self)
                    await end(nil)
                } catch {
                    await end(PluginError(error))
                }
            }
        }
    }

    func resume() {
        turn {
            isPaused = false
            waiters.resume { $0 == .resume }
        }
    }

    func woken() {
        turn {
            wakes &+= 1
            waiters.resume { if case .woken = $0 { true } else { false } }
        }
    }

    func answered(_ answer: PluginAnswer) {
        turn {
            guard isAsking else { return }
            self.answer = answer
            waiters.resume { $0 == .answer }
        }
    }

    func stop() {
        noteOver()
    }

    func destroy() {
        executor.close {
            noteOver()
            task = nil
        }
    }

    private func turn(_ body: () -> Void) {
        deliveredInTurn = 0
        eventsInTurn = 0
        executor.turn(body)
    }

    /// Ends the load: all waiting calls return, and the task is cancelled. Called when the load has ended or was
    /// notified that it is over.
    private func noteOver() {
        isOver = true
        order.end()
        answer = nil
        task?.cancel()
        waiters.resume { _ in true }
    }

    // MARK: Attempts

    /// Repeats an attempt until it has a result.
    ///
    /// - Parameter withdraw: called inside a host call if the task was cancelled while it waited.
    /// - Throws: `CancellationError` if the load is over, or if the task was cancelled while it waited; otherwise the
    ///   attempt's error.
    func perform<Value>(
        withdrawing withdraw: (@Sendable (RunningLoad, BorrowedClient) -> Void)? = nil,
        _ attempt: @escaping @Sendable (RunningLoad, BorrowedClient) throws -> Attempt<Value>
    ) async throws -> Value {
        while true {
            switch try await make(attempt) {
            case .done(let value): return value
            case .wait(let reason): await suspend(until: reason)
            }
            guard Task.isCancelled else { continue }
            if let withdraw {
                executor.perform { [self] isOpen in
                    if isOpen, !isOver { withdraw(self, client) }
                }
            }
            throw CancellationError()
        }
    }

    private func make<Value>(_ attempt: @escaping @Sendable (RunningLoad, BorrowedClient) throws -> Attempt<Value>) async throws -> Attempt<
        Value
    > {
        if executor.isInHostCall { return try makeNow(attempt) }
        return try unsafe await withUnsafeThrowingContinuation { continuation in
            executor.perform { [self] isOpen in
                unsafe continuation.resume(with: Result { try isOpen ? makeNow(attempt) : { throw CancellationError() }() })
            }
        }
    }

    private func makeNow<Value>(_ attempt: @Sendable (RunningLoad, BorrowedClient) throws -> Attempt<Value>) throws -> Attempt<Value> {
        try checkStop()
        return try attempt(self, client)
    }

    /// The load may have been stopped during the last call, which returned no flow, or from elsewhere since. Then the
    /// attempt is not made (CANCEL-01).
    @inline(__always)
    private func checkStop() throws {
        guard !isOver else { throw CancellationError() }
        guard unsafe client.pointer.pointee.is_stopped(client.pointer) == 0 else {
            noteOver()
            throw CancellationError()
        }
    }

    /// Same as ``perform(withdrawing:_:)`` for events: waits before and after the delivery while the consumer is not
    /// ready.
    func deliver(_ attempt: @escaping @Sendable (RunningLoad, BorrowedClient) throws -> portolan_flow) async throws {
        try await perform { load, client -> Attempt<Void> in
            guard !load.isPaused else { return .wait(.resume) }
            try load.note(attempt(load, client))
            return .done(())
        }
        try await waitForReader()
    }

    func waitForReader() async throws {
        try await perform { load, _ in load.isPaused ? .wait(.resume) : .done(()) }
    }

    /// Handles the host's flow decision for a delivery. Only inside a host call.
    func note(_ flow: portolan_flow) throws {
        switch flow {
        case PORTOLAN_STOPPED:
            noteOver()
            throw CancellationError()
        case PORTOLAN_PAUSE: isPaused = true
        default: break
        }
    }

    /// After PORTOLAN_WAIT: wait for the next call of `woken`. Only inside a host call.
    var untilWoken: WaitReason { .woken(after: wakes) }

    // MARK: Body bytes

    /// Delivers directly. Only inside a host call.
    ///
    /// - Returns: `false` if ``waitAfterDelivery()`` must follow, because the consumer is not ready or this host call
    ///   has delivered enough.
    @inline(__always)
    func deliverNow(_ bytes: UnsafeRawBufferPointer) throws -> Bool {
        try checkStop()
        try order.data(bytes.count)
        guard bytes.count > 0 else { return true }
        let flow = unsafe client.pointer.pointee.did_load(client.pointer, bytes.baseAddress, bytes.count)
        deliveredInTurn &+= bytes.count
        eventsInTurn &+= 1
        guard flow == PORTOLAN_CONTINUE else {
            try note(flow)
            return false
        }
        return deliveredInTurn < Self.largestDelivery && eventsInTurn < Self.mostEvents
    }

    /// Limits of bytes and events in one host call. After them, the call returns to the host, which then calls again.
    private static let largestDelivery = 8 << 20
    private static let mostEvents = 4096

    /// Waits for the consumer or for the next host call. Called after ``deliverNow(_:)``.
    func waitAfterDelivery() async throws {
        if deliveredInTurn >= Self.largestDelivery || eventsInTurn >= Self.mostEvents, executor.isInHostCall, !isOver {
            executor.spend()
            await suspend(until: untilWoken)
        }
        try await waitForReader()
    }

    // MARK: Waiting

    /// Suspends until the reason no longer holds, the task is cancelled, or the load is over.
    private func suspend(until reason: WaitReason) async {
        let waiter = Waiter()
        await withTaskCancellationHandler {
            unsafe await withUnsafeContinuation { continuation in
                executor.perform { [self] isOpen in
                    guard isOpen, !isOver, !waiter.isOver, isStillAhead(reason) else { return unsafe continuation.resume() }
                    waiters.add(waiter, until: reason)
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

    private func isStillAhead(_ reason: WaitReason) -> Bool {
        switch reason {
        case .resume: isPaused
        case .woken(let count): count == wakes
        case .answer: isAsking && answer == nil
        }
    }

    // MARK: The end

    /// Ends the load after the author's function has returned or thrown. If the function cancelled its own task,
    /// another task reports the end.
    private func end(_ error: PluginError?) async {
        guard !Task.isCancelled else {
            Task(executorPreference: executor) { [self] in await report(error) }
            return
        }
        await report(error)
    }

    private func report(_ error: PluginError?) async {
        _ = try? await perform { load, client -> Attempt<Void> in  // because the only possible error is that the load is over already
            var failure = error
            if failure == nil {
                if load.isPaused, load.order.phase != .before { return .wait(.resume) }
                do throws(PluginError) { try load.order.finish() } catch { failure = error }
            }
            if let failure {
                let arena = Arena()
                var lent = unsafe arena.error(failure)
                unsafe client.pointer.pointee.did_fail(client.pointer, &lent)
                withExtendedLifetime(arena) {}
            } else {
                unsafe client.pointer.pointee.did_finish(client.pointer)
            }
            load.noteOver()
            return .done(())
        }
    }
}
