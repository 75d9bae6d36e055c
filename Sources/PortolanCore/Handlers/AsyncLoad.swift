// SPDX-License-Identifier: Apache-2.0

import Synchronization

/// The load of an ``AsyncHandler``: a task that calls the client, and waits while the client is paused.
final class AsyncLoad: ProtocolLoad {
    private struct State {
        var task: Task<Void, Never>?
        /// The client wants nothing more, or the load has ended.
        var isOver = false
        /// A resume has come before the wait that it ends.
        var isResumed = false
        /// Continued with whether the load goes on.
        var waiters: [CheckedContinuation<Bool, Never>] = []
    }

    let client: any ProtocolClient
    private let body: @Sendable (AsyncClient) async throws -> Void
    private let state = Mutex(State())

    init(_ client: any ProtocolClient, body: @escaping @Sendable (AsyncClient) async throws -> Void) {
        self.client = client
        self.body = body
    }

    /// Always `true`, because the task runs on another thread.
    var stopsInTurn: Bool { true }

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
            try await body(AsyncClient(load: self))
            if !isOver { client.didFinishLoading() }
        } catch let error as LoadError {
            if !isOver { client.didFail(with: error) }
        } catch let error as CancellationError {
            if !isOver {
                client.didFail(with: LoadError(.cancelled, message: "the handler cancelled its own load", underlyingError: error))
            }
        } catch {
            if !isOver {
                client.didFail(with: LoadError(.unknown, message: "the handler's function threw an error", underlyingError: error))
            }
        }
        _ = end()
    }

    /// - Returns: the task, the first time.
    private func end() -> Task<Void, Never>? {
        let (task, waiters) = state.withLock { state in
            state.isOver = true
            defer { (state.task, state.waiters) = (nil, []) }
            return (state.task, state.waiters)
        }
        for waiter in waiters { waiter.resume(returning: false) }
        return task
    }

    // MARK: From the client's calls

    /// - Throws: `CancellationError` if the load was stopped.
    func check() throws {
        if isOver { throw CancellationError() }
    }

    /// Waits until the client is ready for the next event.
    ///
    /// - Throws: `CancellationError` if the load was stopped.
    func handle(_ flow: Flow) async throws {
        switch flow {
        case .keepGoing: return
        case .stopped:
            end()?.cancel()
            throw CancellationError()
        case .pause:
            let goesOn = await withCheckedContinuation { continuation in
                let goesOn = state.withLock { state -> Bool? in
                    if state.isOver { return false }
                    guard !state.isResumed else {
                        state.isResumed = false
                        return true
                    }
                    state.waiters.append(continuation)
                    return nil
                }
                if let goesOn { continuation.resume(returning: goesOn) }
            }
            guard goesOn else { throw CancellationError() }
        }
    }
}
