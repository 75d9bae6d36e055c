// SPDX-License-Identifier: Apache-2.0

import CPortolan
import CPluginObservation
import FoundationEssentials
import PortolanCore
import PortolanPlugins

/// A nested load that a plugin opened through `portolan.nested/1`. The runner loads the whole resource first, and then
/// gives the plugin the bytes in pieces.
@safe
final class ProbedNestedLoad: @unchecked Sendable {  // … because only the load's serial calls use what no lock guards
    /// Unowned, because the client retains this object, and lives longer.
    private unowned let parent: ProbeClient
    private let isBlocking: Bool
    /// The change with which the plugin opened the nested load.
    let change: ReadStruct<ReadChange>
    private let state = ConditionLock(State())
    /// What the plugin borrows: the response and the error until `close`, and the bytes until the next call of `next`.
    private var response: BorrowedValue<portolan_response>?
    private var bytes: BorrowedValue<portolan_string>?
    private var error: BorrowedValue<portolan_error>?
    /// What the plugin does not borrow any more. The memory stays mapped, so that nothing else gets its address.
    private var revoked: [AnyObject] = []

    private struct State {
        var outcome: NestedLoadCache.Outcome?
        var offset = 0
        /// The number of body pieces that the plugin received in total, and while the parent load was paused.
        var (pieces, piecesInPause) = (0, 0)
        /// The error that ends the body early.
        var truncationError: LoadError?
        var closeCount = 0
        /// The number of uses after the close.
        var usesAfterClose = 0
        var isClosedInDestroy = false
        /// Whether the plugin was notified of the failure.
        var hasReportedFailure = false
        /// Whether the parent load was stopped.
        var isStopped = false

        var failure: LoadError? {
            if case .failure(let failure)? = outcome { failure } else { truncationError }
        }
    }

    /// - Parameter pointer: The change itself, which is borrowed during the call.
    init(
        _ change: ReadStruct<ReadChange>, _ pointer: UnsafePointer<portolan_change>?, of parent: ProbeClient, isBlocking: Bool,
        by nestedLoads: NestedLoadCache
    ) {
        (self.parent, self.isBlocking, self.change) = (parent, isBlocking, change)
        switch parent.script.nestedOutcome {
        case .loaded, .cut, .bytes, .mutated, .announcing, .declaring: break
        case .failing(let code):
            state.withLock { $0.outcome = .failure(LoadError(code, message: "the runner makes the nested load fail")) }
            return
        case .silent: return
        }
        var request = parent.request
        // A change that can't be read changes nothing. DESC-05 reports it.
        if let pointer = unsafe pointer, change.value?.unreadable.isEmpty == true {
            do throws(LoadError) {
                request = try unsafe parent.request.nested(pointer, of: parent.handlerIdentifier)
            } catch {
                let failure = error
                state.withLock { $0.outcome = .failure(failure) }
                return
            }
        }
        let isFirst = parent.state.withLock(\.nested.isEmpty)
        nestedLoads.load(request) { [self, parent] outcome in
            state.withLockBroadcasting { $0.outcome = parent.script.nestedOutcome.outcome(for: outcome, ofFirstNestedLoad: isFirst) }
            parent.state.withLockBroadcasting { if !$0.pendingCalls.contains(.woken) { $0.pendingCalls.append(.woken) } }
        }
    }

    // MARK: Calls by the plugin

    /// The outcome, for which a blocking load waits; `nil` if an event-driven load must wait, or if the parent load was
    /// stopped.
    private func outcome() -> NestedLoadCache.Outcome? {
        guard isBlocking else { return state.withLock(\.outcome) }
        return state.wait { $0.isStopped ? .some(nil) : $0.outcome.map { .some($0) } }
    }

    /// Stops waiting, because the parent load was stopped.
    func stop() {
        state.withLockBroadcasting { $0.isStopped = true }
    }

    private func countUse() {
        state.withLock { if $0.closeCount > 0 { $0.usesAfterClose += 1 } }
    }

    func getResponse(_ place: UnsafeMutablePointer<UnsafePointer<portolan_response>?>) -> portolan_flow {
        countUse()
        if parent.state.withLock(\.isStopped) { return PORTOLAN_STOPPED }
        switch outcome() {
        case nil: return isBlocking ? PORTOLAN_STOPPED : PORTOLAN_WAIT
        case .failure?: return PORTOLAN_STOPPED
        case .success(let (data, response))?:
            var response = response
            response.expectedLength = parent.script.nestedOutcome.length(of: data)
            let borrowed =
                unsafe self.response
                ?? BorrowedValue(isRevocable: parent.takesRevocableValue()) {
                    unsafe portolan_response(response, storage: .notAllowed, in: &$0)
                }
            unsafe self.response = borrowed
            unsafe place.pointee = borrowed.pointer
            return PORTOLAN_CONTINUE
        }
    }

    func next(_ place: UnsafeMutablePointer<UnsafeRawPointer?>) -> Int64 {
        countUse()
        if parent.script.revokesNestedMemory, let old = unsafe bytes {
            unsafe old.revoke()
            unsafe revoked.append(old)
            unsafe bytes = nil
        }
        if parent.state.withLock(\.isStopped) { return Int64(PORTOLAN_STOPPED.rawValue) }
        switch outcome() {
        case nil: return Int64(isBlocking ? PORTOLAN_STOPPED.rawValue : PORTOLAN_WAIT.rawValue)
        case .failure?:
            state.withLock { $0.hasReportedFailure = true }
            return Int64(PORTOLAN_STOPPED.rawValue)
        case .success(let (data, _))?:
            let isPaused = parent.state.withLock { $0.stage == .paused }
            let piece = state.withLock { state in
                let piece = data.dropFirst(state.offset).prefix(parent.script.nestedPieces.size(forLength: data.count))
                state.offset += piece.count
                if !piece.isEmpty { (state.pieces, state.piecesInPause) = (state.pieces + 1, state.piecesInPause + (isPaused ? 1 : 0)) }
                if piece.isEmpty { state.truncationError = parent.script.nestedOutcome.cut }
                return piece
            }
            if piece.isEmpty, parent.script.nestedOutcome.cut != nil {
                state.withLock { $0.hasReportedFailure = true }
                return Int64(PORTOLAN_STOPPED.rawValue)
            }
            let copy = Array(piece)
            let borrowed = unsafe BorrowedValue(isRevocable: parent.takesRevocableValue()) { unsafe $0.string(copy) }
            unsafe bytes = borrowed
            unsafe place.pointee = UnsafeRawPointer(borrowed.pointer.pointee.bytes)
            return Int64(piece.count)
        }
    }

    func getError() -> UnsafePointer<portolan_error>? {
        countUse()
        if parent.state.withLock(\.isStopped) { return nil }
        guard let failure = state.withLock(\.failure) else { return nil }
        let borrowed =
            unsafe self.error
            ?? BorrowedValue(isRevocable: parent.takesRevocableValue()) {
                unsafe CStorage<portolan_error>.encode(failure, in: &$0)
            }
        unsafe self.error = borrowed
        return unsafe borrowed.pointer
    }

    /// Records that the plugin closed the load, and ends the borrow of everything that the load has given.
    func close() {
        unsafe response?.revoke()
        unsafe bytes?.revoke()
        unsafe error?.revoke()
        unsafe revoked += [response as AnyObject?, bytes, error].compactMap(\.self)
        unsafe (response, bytes, error) = (nil, nil, nil)
        let thread = portolan_thread_number()
        let isInDestroy = parent.state.withLock { $0.functions[thread] == .destroy }
        state.withLock { ($0.closeCount, $0.isClosedInDestroy) = ($0.closeCount + 1, $0.isClosedInDestroy || isInDestroy) }
    }

    /// How many times the plugin closed the load, how many times it used the load after the first close, and whether
    /// `destroy` closed the load.
    var use: (closes: Int, usesAfterClose: Int, isClosedInDestroy: Bool) {
        state.withLock { ($0.closeCount, $0.usesAfterClose, $0.isClosedInDestroy) }
    }
    /// The whole body; empty before the response.
    var body: [UInt8] {
        state.withLock { if case .success((let data, _))? = $0.outcome { Array(data) } else { [] } }
    }
    var hasReportedFailure: Bool { state.withLock(\.hasReportedFailure) }
    /// The number of body pieces that the plugin received in total and while the parent load was paused, and the number
    /// of bytes.
    var pieces: (all: Int, inPause: Int, bytes: Int) { state.withLock { ($0.pieces, $0.piecesInPause, $0.offset) } }

    // MARK: The table

    /// The plugin's handle is the address of this object.
    var handle: OpaquePointer { unsafe OpaquePointer(Unmanaged.passUnretained(self).toOpaque()) }

    static func at(_ handle: OpaquePointer) -> ProbedNestedLoad {
        unsafe Unmanaged<ProbedNestedLoad>.fromOpaque(UnsafeRawPointer(handle)).takeUnretainedValue()
    }
}

extension ClientScript.NestedOutcome {
    fileprivate func outcome(for loaded: NestedLoadCache.Outcome, ofFirstNestedLoad isFirst: Bool) -> NestedLoadCache.Outcome {
        guard case .success((let data, let response)) = loaded else { return loaded }
        switch self {
        case .cut(let count): return .success((data.prefix(count), response))
        case .bytes(let bytes): return .success((Data(bytes), response))
        case .mutated(let seed):
            var (random, bytes) = (SplitMix(seed: seed), Array(data))
            for _ in 0...random.next() % 8 where !bytes.isEmpty {
                bytes[Int(random.next() % UInt64(bytes.count))] = UInt8(truncatingIfNeeded: random.next())
            }
            if random.next() % 4 == 0 { bytes = Array(bytes.prefix(Int(random.next() % UInt64(bytes.count + 1)))) }
            return .success((Data(bytes), response))
        case .declaring(let declaredLength):
            return isFirst ? .success((Data(declaredLength.written(to: Array(data.prefix(1 << 16)))), response)) : loaded
        case .loaded, .failing, .silent, .announcing: return loaded
        }
    }

    /// The length that the response announces; −1 if it announces none.
    fileprivate func length(of data: Data) -> Int64 {
        switch self {
        case .announcing(let length): length
        // The response announces no length, so that the missing bytes show only at the end.
        case .cut: -1
        case .loaded, .bytes, .mutated, .declaring, .failing, .silent: Int64(data.count)
        }
    }

    /// The code of the error that the nested load fails with.
    var failure: LoadError.Code? {
        if case .failing(let code) = self { code } else { cut?.code }
    }

    /// The error that ends the body early.
    fileprivate var cut: LoadError? {
        switch self {
        case .cut(let count): LoadError(.truncated, message: "the runner ends the nested body after \(count) bytes")
        case .announcing(let length): LoadError(.truncated, message: "the nested body ends before the \(length) bytes that were announced")
        case .loaded, .bytes, .mutated, .declaring, .failing, .silent: nil
        }
    }
}

/// A value that the plugin borrows from a nested load, with everything that it points to.
@safe
private final class BorrowedValue<Root>: @unchecked Sendable {  // … because it does not change until it is made inaccessible
    private enum Memory: ~Copyable {
        case heap(CStorage<Root>)
        case pages(ReadOnlyPages<Root>)
    }

    private let memory: Memory
    let pointer: UnsafePointer<Root>

    /// - Parameter isRevocable: Whether the value is on pages of its own, unless no more memory can be mapped.
    init(isRevocable: Bool, _ build: (inout CArena) -> Root) {
        // `try?` because the check then misses a violation, but fails no plugin without a fault.
        if isRevocable, let pages = try? ReadOnlyPages(build) {
            unsafe pointer = pages.pointer
            memory = .pages(pages)
        } else {
            let storage = CStorage(build)
            unsafe pointer = storage.pointer
            memory = .heap(storage)
        }
    }

    /// Makes the memory inaccessible, if it is on pages of its own.
    func revoke() {
        switch memory {
        case .heap: break
        case .pages(let pages): pages.poison()
        }
    }
}
