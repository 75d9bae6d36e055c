// SPDX-License-Identifier: Apache-2.0

import CPortolan
import FoundationEssentials
import HTTPTypes
import PortolanCore
import PortolanPlugins

/// An inner load that a plugin opened through `portolan.nested/1`: the judge loads it whole, and gives it in pieces.
@safe
final class JudgedNested: @unchecked Sendable {  // … because all that changes is behind the monitor, or belongs to the load's turns
    private let outer: JudgeClient
    private let isBlocking: Bool
    private let state = Monitor(State())
    /// The bytes that `next` has lent.
    private var lent: UnsafeMutableRawBufferPointer?
    private var response: Shared<portolan_response>?
    private var error: Shared<portolan_error>?

    private struct State {
        var outcome: InnerLoads.Outcome?
        var offset = 0
        var closes = 0
        /// How often it was used after it was closed.
        var lateUses = 0
        /// The outer load was stopped.
        var isStopped = false
    }

    /// What `next` gives at once.
    private static let pieceSize = 64 << 10

    init(_ change: Given<GivenChange>, of outer: JudgeClient, isBlocking: Bool, by inner: InnerLoads) {
        (self.outer, self.isBlocking) = (outer, isBlocking)
        switch outer.script.inner {
        case .loaded: break
        case .failing(let code):
            state.withLock { $0.outcome = .failure(LoadError(code, message: "the judge has the inner load fail")) }
            return
        case .silent: return
        }
        var request = outer.request
        if let change = change.value {
            if change.dropsBody { request.body = nil }
            if change.dropsFields { request.fields = [:] }
            if let text = change.url.text {
                do throws(URLSyntaxError) {
                    request.url = try URLRecord(parsing: text)
                } catch {
                    let failure = LoadError(.badURL, message: "the URL of the inner load does not parse: \(error)")
                    state.withLock { $0.outcome = .failure(failure) }
                    return
                }
            }
        }
        inner.load(request) { [self] outcome in
            state.signalling { $0.outcome = outcome }
            outer.state.signalling { if !$0.turns.contains(.woken) { $0.turns.append(.woken) } }
        }
    }

    deinit { unsafe lent?.deallocate() }

    // MARK: What the plugin calls

    /// What came of it; `nil` where it is not there yet, and the plugin does not wait.
    private func outcome() -> InnerLoads.Outcome? {
        guard isBlocking else { return state.withLock(\.outcome) }
        return state.wait { $0.isStopped ? .some(nil) : $0.outcome.map { .some($0) } }
    }

    /// The outer load was stopped: whoever waits here comes back.
    func stop() {
        state.signalling { $0.isStopped = true }
    }

    private func noteUse() {
        state.withLock { if $0.closes > 0 { $0.lateUses += 1 } }
    }

    func getResponse(_ place: UnsafeMutablePointer<UnsafePointer<portolan_response>?>) -> portolan_flow {
        noteUse()
        if outer.state.withLock(\.isStopped) { return PORTOLAN_STOPPED }
        switch outcome() {
        case nil: return isBlocking ? PORTOLAN_STOPPED : PORTOLAN_WAIT
        case .failure?: return PORTOLAN_STOPPED
        case .success(let (data, response))?:
            var response = response
            response.expectedLength = Int64(data.count)
            let lent = unsafe self.response ?? Shared(Lent(response, storage: .notAllowed))
            unsafe self.response = lent
            unsafe place.pointee = lent.pointer
            return PORTOLAN_CONTINUE
        }
    }

    func next(_ place: UnsafeMutablePointer<UnsafeRawPointer?>) -> Int64 {
        noteUse()
        if outer.state.withLock(\.isStopped) { return Int64(PORTOLAN_STOPPED.rawValue) }
        switch outcome() {
        case nil: return Int64(isBlocking ? PORTOLAN_STOPPED.rawValue : PORTOLAN_WAIT.rawValue)
        case .failure?: return Int64(PORTOLAN_STOPPED.rawValue)
        case .success(let (data, _))?:
            let piece = state.withLock { state in
                let piece = data.dropFirst(state.offset).prefix(Self.pieceSize)
                state.offset += piece.count
                return piece
            }
            unsafe lent?.deallocate()
            let copy = UnsafeMutableRawBufferPointer.allocate(byteCount: max(1, piece.count), alignment: 16)
            unsafe copy.copyBytes(from: piece)
            unsafe lent = copy
            unsafe place.pointee = UnsafeRawPointer(copy.baseAddress)
            return Int64(piece.count)
        }
    }

    func getError() -> UnsafePointer<portolan_error>? {
        noteUse()
        if outer.state.withLock(\.isStopped) { return nil }
        guard case .failure(let failure)? = state.withLock(\.outcome) else { return nil }
        let lent = unsafe self.error ?? Shared(Lent(failure))
        unsafe self.error = unsafe lent
        return unsafe lent.pointer
    }

    /// The plugin has done with it.
    func close() {
        state.withLock { $0.closes += 1 }
    }

    /// How often it was closed, and used after that.
    var use: (closes: Int, late: Int) { state.withLock { ($0.closes, $0.lateUses) } }

    // MARK: The table

    /// The pointer that the plugin has is the object's own.
    var handle: OpaquePointer { unsafe OpaquePointer(Unmanaged.passUnretained(self).toOpaque()) }

    static func at(_ handle: OpaquePointer) -> JudgedNested {
        unsafe Unmanaged<JudgedNested>.fromOpaque(UnsafeRawPointer(handle)).takeUnretainedValue()
    }
}

/// A value as a plugin is lent it, shared.
@safe
private final class Shared<Root>: @unchecked Sendable {  // … because it does not change
    private let lent: Lent<Root>
    var pointer: UnsafePointer<Root> { unsafe lent.pointer }

    init(_ lent: consuming Lent<Root>) { self.lent = lent }
}
