// SPDX-License-Identifier: Apache-2.0

import CPortolan

/// One load, from `make` until `destroy` has returned, and beyond that as long as a task of its author's still holds it.
///
/// What the author's tasks ask of the client comes here as an *attempt*: a function that is called in a turn, and either has a result or
/// says what to wait for. A task of the load's own is in a turn whenever it runs, so its attempts cost a look at the thread; one from
/// elsewhere has its attempts made in the next turn.
@safe
final class RunningLoad: @unchecked Sendable {  // … because what is not constant is touched only in a call of the host's, which are serial
    /// What an attempt comes to.
    enum Attempt<Value: Sendable>: Sendable {
        case done(Value)
        case wait(WaitReason)
    }

    let instance: PluginInstance
    let request: PluginRequest
    let cached: PluginResponse?
    let executor: TurnExecutor
    private let client: BorrowedClient
    private var task: Task<Void, Never>?

    // In a turn.
    var order: PluginEventStateMachine
    var isPaused = false
    private(set) var isOver = false
    private var waiters = Waiters()
    /// How often `woken` was called.
    private var wakes: UInt64 = 0
    /// A challenge that waits, and its answer once that is there.
    var isAsking = false
    var answer: PluginAnswer?
    private var deliveredInTurn = 0
    private var eventsInTurn = 0

    init(_ instance: PluginInstance, _ request: PluginRequest, cached: PluginResponse?, client: BorrowedClient) {
        self.instance = instance
        self.request = request
        self.cached = cached
        self.client = client
        executor = TurnExecutor(client)
        order = PluginEventStateMachine(
            isMultipart: instance.isMultipart, isHeadOnly: request.method == "HEAD", bodyLength: request.bodyLength)
    }

    // MARK: Calls of the host's, [serial]

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

    /// The load has ended, or was told that it is over: every call that waits comes back, and the tasks are cancelled.
    private func noteOver() {
        isOver = true
        order.end()
        answer = nil
        task?.cancel()
        waiters.resume { _ in true }
    }

    // MARK: Attempts

    /// Makes an attempt until it has a result.
    ///
    /// - Parameter withdraw: called in a turn when the task was cancelled while it waited.
    /// - Throws: `CancellationError` where the load is over, or the task was cancelled while it waited; else what the attempt throws.
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
        if executor.isInTurn { return try makeNow(attempt) }
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

    /// A stop may have come in the last call, which had no answer, or from elsewhere since: then the next one is not made (CANCEL-01).
    @inline(__always)
    private func checkStop() throws {
        guard !isOver else { throw CancellationError() }
        guard unsafe client.pointer.pointee.is_stopped(client.pointer) == 0 else {
            noteOver()
            throw CancellationError()
        }
    }

    /// The same for what is delivered: waits while the reader does, before and after.
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

    /// In a turn: takes the host's answer to a delivery.
    func note(_ flow: portolan_flow) throws {
        switch flow {
        case PORTOLAN_STOPPED:
            noteOver()
            throw CancellationError()
        case PORTOLAN_PAUSE: isPaused = true
        default: break
        }
    }

    /// In a turn: what said PORTOLAN_WAIT may be there after the next call of `woken`.
    var untilWoken: WaitReason { .woken(after: wakes) }

    // MARK: Body bytes

    /// Delivers in a turn, without a detour.
    ///
    /// - Returns: whether all is said: not where the reader or the turn has to be waited for.
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

    /// After so much in one turn, the host has one of its own.
    private static let largestDelivery = 8 << 20
    private static let mostEvents = 4096

    /// After ``deliverNow(_:)``: waits for the reader, or for another turn.
    func waitAfterDelivery() async throws {
        if deliveredInTurn >= Self.largestDelivery || eventsInTurn >= Self.mostEvents, executor.isInTurn, !isOver {
            executor.spend()
            await suspend(until: untilWoken)
        }
        try await waitForReader()
    }

    // MARK: Waiting

    /// Suspends until the reason is over, or the task is cancelled, or the load is over.
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

    /// The author's function has returned, or thrown. What it did to its own task is no reason to leave the load without an end.
    private func end(_ error: PluginError?) async {
        guard !Task.isCancelled else {
            Task(executorPreference: executor) { [self] in await report(error) }
            return
        }
        await report(error)
    }

    private func report(_ error: PluginError?) async {
        _ = try? await perform { load, client -> Attempt<Void> in  // because what can be thrown is that the load is over already
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
