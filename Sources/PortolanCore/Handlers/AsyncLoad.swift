// SPDX-License-Identifier: Apache-2.0

import Synchronization

/// The load of an ``AsyncHandler``: a task that calls the client, and waits while the client is paused.
final class AsyncLoad: ProtocolLoad {
    private struct State {
        var task: Task<Void, Never>?
        /// The load was stopped, or has ended.
        var isOver = false
        /// The load was resumed before it began to wait. The next wait then ends immediately.
        var isResumed = false
        /// The calls that wait until the load is resumed. They receive `true`, or `false` if the load is over.
        var waiters: [CheckedContinuation<Bool, Never>] = []
    }

    let client: any ProtocolClient
    /// The identifier of the handler, for messages.
    private let handler: String
    private let operation: @Sendable (AsyncClient) async throws -> Void
    private let state = Mutex(State())

    init(_ client: any ProtocolClient, handler: String, operation: @escaping @Sendable (AsyncClient) async throws -> Void) {
        (self.client, self.handler) = (client, handler)
        self.operation = operation
    }

    /// Always `true`, because the task runs on another thread.
    var stopsAsynchronously: Bool { true }

    var isOver: Bool { state.withLock { $0.isOver } }

    func startLoading() {
        guard !isOver else { return }
        let task = Task { await run() }
        let isOver = state.withLock { state in
            if !state.isOver { state.task = task }
            return state.isOver
        }
        if isOver { task.cancel() }
    }

    func stopLoading() {
        end()?.cancel()
    }

    func resumeLoading() {
        let waiters = state.withLock { state in
            if state.waiters.isEmpty { state.isResumed = true }
            defer { state.waiters = [] }
            return state.waiters
        }
        for waiter in waiters { waiter.resume(returning: true) }
    }

    private func run() async {
        do {
            try await operation(AsyncClient(load: self))
            if !isOver { client.didFinishLoading() }
        } catch let error as LoadError {
            if !isOver { client.didFail(with: error) }
        } catch let error as CancellationError {
            if !isOver {
                client.didFail(
                    with: LoadError(.cancelled, message: "the handler \(handler) cancelled its own load", underlyingError: error))
            }
        } catch {
            if !isOver {
                client.didFail(
                    with: LoadError(.unknown, message: "the function of the handler \(handler) threw an error", underlyingError: error))
            }
        }
        _ = end()
    }

    /// - Returns: the task of the load at the first call; `nil` at later calls.
    private func end() -> Task<Void, Never>? {
        let (task, waiters) = state.withLock { state in
            state.isOver = true
            defer { (state.task, state.waiters) = (nil, []) }
            return (state.task, state.waiters)
        }
        for waiter in waiters { waiter.resume(returning: false) }
        return task
    }

    // MARK: Called by AsyncClient

    /// - Throws: `CancellationError` if the load was stopped.
    func throwIfStopped() throws {
        if isOver { throw CancellationError() }
    }

    /// Waits until the client is ready for the next event.
    ///
    /// - Throws: `CancellationError` if the load was stopped.
    func waitIfPaused(_ flow: Flow) async throws {
        switch flow {
        case .keepGoing: return
        case .stopped:
            end()?.cancel()
            throw CancellationError()
        case .pause:
            let shouldContinue = await withCheckedContinuation { continuation in
                let shouldContinue = state.withLock { state -> Bool? in
                    if state.isOver { return false }
                    guard !state.isResumed else {
                        state.isResumed = false
                        return true
                    }
                    state.waiters.append(continuation)
                    return nil
                }
                if let shouldContinue { continuation.resume(returning: shouldContinue) }
            }
            guard shouldContinue else { throw CancellationError() }
        }
    }
}
