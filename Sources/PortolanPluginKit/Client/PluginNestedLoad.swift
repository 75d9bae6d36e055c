// SPDX-License-Identifier: Apache-2.0

import CPortolan

extension PluginClient {
    /// Returns a nested load, for layered schemes and interposers. Its request is this load's request with `changes`.
    /// The first read starts the nested load.
    ///
    /// The host never chooses this plugin for the nested request. The host follows redirects of the nested load,
    /// handles its challenges as those of this load, and limits the depth. The nested load ends with its parent load,
    /// or when it is released.
    public func load(_ changes: PluginRequestChanges) -> PluginNestedLoad {
        PluginNestedLoad(changes: changes, runningLoad: runningLoad)
    }
}

/// A nested load. Reading gives its response and then its bytes, once. The nested load pauses while the plugin does not
/// read.
///
/// If the nested load fails, reading throws a ``PluginError`` with the same code and domain, and the failure as its
/// cause (NEST-02).
public struct PluginNestedLoad: AsyncSequence, Sendable {
    public enum Event: Hashable, Sendable {
        /// The first event. There is one response.
        case response(PluginResponse)
        case data([UInt8])
    }

    public typealias Element = Event

    let changes: PluginRequestChanges
    let runningLoad: RunningLoad

    public struct AsyncIterator: AsyncIteratorProtocol {
        let nested: NestedLoadHandle
        let changes: PluginRequestChanges

        private var yieldCounter = ExecutorYieldCounter()

        init(nested: NestedLoadHandle, changes: PluginRequestChanges) { (self.nested, self.changes) = (nested, changes) }

        /// - Throws: `CancellationError` if the reading task was cancelled, even if bytes are available.
        public mutating func next() async throws -> Event? {
            if yieldCounter.shouldYield() { await Task.yield() }
            try Task.checkCancellation()
            return try await nested.next(changes)
        }
    }

    public func makeAsyncIterator() -> AsyncIterator {
        AsyncIterator(nested: NestedLoadHandle(runningLoad), changes: changes)
    }
}

/// Owns a `portolan_nested`, and closes it when released.
@safe
final class NestedLoadHandle: @unchecked Sendable {  // … because it is used only inside host calls into the parent load
    @safe
    private enum State {
        case notStarted
        case open(OpaquePointer, hasResponse: Bool)
        case ended
    }

    private let runningLoad: RunningLoad
    private var state = State.notStarted

    init(_ runningLoad: RunningLoad) { self.runningLoad = runningLoad }

    deinit {
        guard case .open(let pointer, _) = state, let table = runningLoad.instance.nested else { return }
        nonisolated(unsafe) let nested = unsafe pointer
        // The host closes nested loads that are open when the parent load ends.
        runningLoad.executor.perform { [runningLoad] isOpen in
            if isOpen, !runningLoad.isEnded { unsafe table.pointer.pointee.close(nested) }
        }
    }

    func next(_ changes: PluginRequestChanges) async throws -> PluginNestedLoad.Event? {
        guard let table = runningLoad.instance.nested else {
            throw PluginError(.notOffered, message: "this host has no nested loads; use a host with the extension \(PORTOLAN_NESTED)")
        }
        try changes.check()
        return try await runningLoad.perform { [self] load, client in
            if case .notStarted = state {
                let arena = Arena()
                var cChange = unsafe arena.changes(changes)
                unsafe state = .open(table.pointer.pointee.open(client.pointer, &cChange), hasResponse: false)
                withExtendedLifetime(arena) {}
            }
            guard case .open(let nested, let hasResponse) = state else { return .done(nil) }
            return try unsafe hasResponse ? readBytes(table, nested, load) : readResponse(table, nested, load)
        }
    }

    private typealias AttemptResult = RunningLoad.AttemptResult<PluginNestedLoad.Event?>

    private func readResponse(
        _ table: PluginInstance.NestedTable, _ nested: OpaquePointer, _ load: RunningLoad
    ) throws -> AttemptResult {
        var response: UnsafePointer<portolan_response>?
        switch unsafe table.pointer.pointee.response(nested, &response) {
        case PORTOLAN_CONTINUE:
            unsafe state = .open(nested, hasResponse: true)
            return unsafe .done(.response(response.map { unsafe PluginResponse($0.pointee) } ?? PluginResponse()))
        case PORTOLAN_WAIT: return .wait(load.untilNextWake)
        default: throw try unsafe nestedError(table, nested, load)
        }
    }

    private func readBytes(
        _ table: PluginInstance.NestedTable, _ nested: OpaquePointer, _ load: RunningLoad
    ) throws -> AttemptResult {
        var bytes: UnsafeRawPointer?
        let count = unsafe table.pointer.pointee.next(nested, &bytes)
        switch count {
        case 1...: return unsafe .done(.data(Array(UnsafeRawBufferPointer(start: bytes, count: Int(count)))))
        case 0:
            unsafe table.pointer.pointee.close(nested)
            state = .ended
            return .done(nil)
        case Int64(PORTOLAN_WAIT.rawValue): return .wait(load.untilNextWake)
        default: throw try unsafe nestedError(table, nested, load)
        }
    }

    /// Returns the error of the nested load.
    ///
    /// - Throws: `CancellationError` if the parent load has ended.
    private func nestedError(
        _ table: PluginInstance.NestedTable, _ nested: OpaquePointer, _ load: RunningLoad
    ) throws -> PluginError {
        guard let cError = unsafe table.pointer.pointee.error(nested) else {
            try load.apply(PORTOLAN_STOPPED)
            throw CancellationError()
        }
        let cause = unsafe PluginError(cError.pointee)
        unsafe table.pointer.pointee.close(nested)
        state = .ended
        return PluginError(cause.code, domain: cause.domain, message: "the nested load failed: \(cause.message)", cause: cause)
    }
}
