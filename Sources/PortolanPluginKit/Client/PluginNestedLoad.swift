// SPDX-License-Identifier: Apache-2.0

import CPortolan

extension PluginClient {
    /// Returns a nested load, for layered schemes and interposers. Its request is the load's request with `change`
    /// applied. The first read starts it.
    ///
    /// The host marks the nested request so that this plugin is not asked to load it. The host also follows its
    /// redirects, handles its challenges as those of this load, and limits the depth. The nested load ends with its
    /// parent load, or when it is released.
    public func load(_ change: PluginChange) -> PluginNestedLoad { PluginNestedLoad(change: change, running: running) }
}

/// A nested load that can be read once: its response, then its bytes. It pauses while the plugin does not read.
///
/// If the nested load fails, reading throws a ``PluginError`` with the same code and domain, and the failure as its
/// cause (NEST-02).
public struct PluginNestedLoad: AsyncSequence, Sendable {
    public enum Event: Hashable, Sendable {
        /// Comes first, and once.
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

        /// - Throws: `CancellationError` if the reading task was cancelled, even if bytes are available.
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

/// The Swift side of a `portolan_nested`. Closes it when released.
@safe
final class InnerLoad: @unchecked Sendable {  // … because it is touched only inside host calls into the parent load
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
        // The host closes nested loads that are open when the parent load ends.
        running.executor.perform { [running] isOpen in
            if isOpen, !running.isOver { unsafe table.pointer.pointee.close(inner) }
        }
    }

    func next(_ change: PluginChange) async throws -> PluginNestedLoad.Event? {
        guard let table = running.instance.nested else {
            throw PluginError(.notOffered, message: "this host does not offer nested loads; use a host with \(PORTOLAN_NESTED)")
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

    /// - Throws: if the parent load has ended; the error of the nested load is then irrelevant.
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
        return PluginError(cause.code, domain: cause.domain, message: "the nested load failed: \(cause.message)", cause: cause)
    }
}
