// SPDX-License-Identifier: Apache-2.0

import CPortolan

extension PluginClient {
    /// A load inside this one, for layered schemes and interposers: the load's request, changed. It begins when it is first read.
    ///
    /// The host marks the inner request, so that this plugin is not asked about it, follows its redirects, has its challenges answered as
    /// this load's, and limits the depth. It ends with the load around it, or when nobody holds it any more.
    public func load(_ change: PluginChange) -> PluginNestedLoad { PluginNestedLoad(change: change, running: running) }
}

/// A load inside a load, to be read once: its response, and then its bytes. Not reading is the pause.
///
/// Where it fails, reading throws a ``PluginError`` of the same code and domain, with the failure as its cause (NEST-02).
public struct PluginNestedLoad: AsyncSequence, Sendable {
    public enum Event: Hashable, Sendable {
        /// First, and once.
        case response(PluginResponse)
        case data([UInt8])
    }

    public typealias Element = Event

    let change: PluginChange
    let running: RunningLoad

    public struct AsyncIterator: AsyncIteratorProtocol {
        let inner: InnerLoad
        let change: PluginChange

        private var busySteps = ExecutorYieldCounter()

        init(inner: InnerLoad, change: PluginChange) { (self.inner, self.change) = (inner, change) }

        /// - Throws: `CancellationError` where the task that reads was cancelled, though bytes may wait.
        public mutating func next() async throws -> Event? {
            if busySteps.next() { await Task.yield() }
            try Task.checkCancellation()
            return try await inner.next(change)
        }
    }

    public func makeAsyncIterator() -> AsyncIterator {
        AsyncIterator(inner: InnerLoad(running), change: change)
    }
}

/// What is behind a `portolan_nested`. It is closed when nobody holds it any more.
@safe
final class InnerLoad: @unchecked Sendable {  // … because it is touched only in turns of the load around it
    @safe
    private enum State {
        case closed
        case open(OpaquePointer, hasResponse: Bool)
        case over
    }

    private let running: RunningLoad
    private var state = State.closed

    init(_ running: RunningLoad) { self.running = running }

    deinit {
        guard case .open(let pointer, _) = state, let table = running.instance.nested else { return }
        nonisolated(unsafe) let inner = unsafe pointer
        // What is still open at the outer load's end, the host closes.
        running.executor.perform { [running] isOpen in
            if isOpen, !running.isOver { unsafe table.pointer.pointee.close(inner) }
        }
    }

    func next(_ change: PluginChange) async throws -> PluginNestedLoad.Event? {
        guard let table = running.instance.nested else {
            throw PluginError(.notOffered, message: "this host offers no loads inside loads; use one that has \(PORTOLAN_NESTED)")
        }
        try change.check()
        return try await running.perform { [self] load, client in
            if case .closed = state {
                let arena = Arena()
                var lent = unsafe arena.change(change)
                unsafe state = .open(table.pointer.pointee.open(client.pointer, &lent), hasResponse: false)
                withExtendedLifetime(arena) {}
            }
            guard case .open(let inner, let hasResponse) = state else { return .done(nil) }
            return try unsafe hasResponse ? pullBytes(table, inner, load) : pullResponse(table, inner, load)
        }
    }

    private typealias Attempt = RunningLoad.Attempt<PluginNestedLoad.Event?>

    private func pullResponse(
        _ table: PluginInstance.NestedTable, _ inner: OpaquePointer, _ load: RunningLoad
    ) throws -> Attempt {
        var response: UnsafePointer<portolan_response>?
        switch unsafe table.pointer.pointee.response(inner, &response) {
        case PORTOLAN_CONTINUE:
            unsafe state = .open(inner, hasResponse: true)
            return unsafe .done(.response(response.map { unsafe PluginResponse($0.pointee) } ?? PluginResponse()))
        case PORTOLAN_WAIT: return .wait(load.untilWoken)
        default: throw try unsafe failure(table, inner, load)
        }
    }

    private func pullBytes(
        _ table: PluginInstance.NestedTable, _ inner: OpaquePointer, _ load: RunningLoad
    ) throws -> Attempt {
        var bytes: UnsafeRawPointer?
        let count = unsafe table.pointer.pointee.next(inner, &bytes)
        switch count {
        case 1...: return unsafe .done(.data(Array(UnsafeRawBufferPointer(start: bytes, count: Int(count)))))
        case 0:
            unsafe table.pointer.pointee.close(inner)
            state = .over
            return .done(nil)
        case Int64(PORTOLAN_WAIT.rawValue): return .wait(load.untilWoken)
        default: throw try unsafe failure(table, inner, load)
        }
    }

    /// - Throws: where the load around it is over, and nothing of the inner one is worth telling.
    private func failure(
        _ table: PluginInstance.NestedTable, _ inner: OpaquePointer, _ load: RunningLoad
    ) throws -> PluginError {
        guard let lent = unsafe table.pointer.pointee.error(inner) else {
            try load.note(PORTOLAN_STOPPED)
            throw CancellationError()
        }
        let cause = unsafe PluginError(lent.pointee)
        unsafe table.pointer.pointee.close(inner)
        state = .over
        return PluginError(cause.code, domain: cause.domain, message: "the load inside failed: \(cause.message)", cause: cause)
    }
}
