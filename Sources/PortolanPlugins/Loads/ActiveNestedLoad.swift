// SPDX-License-Identifier: Apache-2.0

import CPortolan
import PortolanCore
import Synchronization

/// The host side of a `portolan_nested`: a nested load that a plugin's load has opened.
///
/// It lives until the parent load was destroyed. If a plugin uses it after `close`, the host therefore detects the
/// violation; there is no dangling pointer.
@safe
final class ActiveNestedLoad: @unchecked Sendable {  // … because `load` is read only, and the rest is locked
    private enum State {
        case open(InnerLoad)
        /// The parent load is over, or could not open a nested load.
        case idle
        /// The plugin closed it.
        case closed
    }

    private let state: Mutex<State>
    private weak let load: HostedLoad?

    /// The result of `open` if no nested load may be opened. It reports that the parent load is over, and may be
    /// closed.
    static let none = ActiveNestedLoad(inner: nil, load: nil)

    private init(inner: InnerLoad?, load: HostedLoad?) {
        state = Mutex(inner.map { .open($0) } ?? .idle)
        self.load = load
    }

    private var inner: InnerLoad? {
        state.withLock { state in
            if case .open(let inner) = state { inner } else { nil }
        }
    }

    private var isClosed: Bool {
        state.withLock { state in
            if case .closed = state { true } else { false }
        }
    }

    /// Ends the nested load; called by the host. Any thread.
    func letGo() {
        inner?.close()
    }

    private convenience init(in load: HostedLoad) {
        self.init(inner: InnerLoad(outer: load.client) { [weak load] in load?.wake() }, load: load)
    }

    var pointer: OpaquePointer { unsafe OpaquePointer(Unmanaged.passUnretained(self).toOpaque()) }

    /// `nil` for NULL, which the header forbids.
    static func at(_ pointer: OpaquePointer) -> ActiveNestedLoad? {
        guard let address = unsafe UnsafeRawPointer(bitPattern: UInt(bitPattern: pointer)) else { return nil }
        return unsafe Unmanaged<ActiveNestedLoad>.fromOpaque(address).takeUnretainedValue()
    }

    // MARK: Calls by the plugin

    static func open(in load: HostedLoad, _ change: UnsafePointer<portolan_change>?) -> ActiveNestedLoad {
        guard load.isInCall else {
            load.strayCall()
            return none
        }
        let read: portolan_change
        let request: Request
        let open = ActiveNestedLoad(in: load)
        do throws(ContractViolation) {
            unsafe read = try portolan_change.read(change)
            request = try unsafe load.request.applying(read)
        } catch  where error.rule == .redirectParses {
            // `response` reports the error of the URL.
            load.open(open)
            open.inner?.fail(LoadError(.badURL, message: Text.oneLine(error.detail)))
            return open
        } catch {
            load.cut(by: error)
            return none
        }
        if request.body != nil { load.upload.handOver() }
        load.open(open)
        open.inner?.start(request)
        return open
    }

    func response(_ place: UnsafeMutablePointer<UnsafePointer<portolan_response>?>?) -> portolan_flow {
        guard let place = unsafe placed(place) else { return PORTOLAN_STOPPED }
        let answer = unsafe pull { unsafe $0.pullResponse() }
        switch unsafe answer {
        case .value(let response)?:
            unsafe place.pointee = unsafe response
            return PORTOLAN_CONTINUE
        case .nothing?: return PORTOLAN_WAIT
        case .end?, .failed?, nil: return PORTOLAN_STOPPED
        }
    }

    func next(_ place: UnsafeMutablePointer<UnsafeRawPointer?>?) -> Int64 {
        guard let place = unsafe placed(place) else { return Int64(PORTOLAN_STOPPED.rawValue) }
        let answer = unsafe pull { unsafe $0.pullBytes() }
        switch unsafe answer {
        case .value(let bytes)?:
            unsafe place.pointee = bytes.baseAddress
            return Int64(bytes.count)
        case .end?: return 0
        case .nothing?: return Int64(PORTOLAN_WAIT.rawValue)
        case .failed?, nil: return Int64(PORTOLAN_STOPPED.rawValue)
        }
    }

    func error() -> UnsafePointer<portolan_error>? {
        guard let load = callable(), let inner, !load.isOver else { return nil }
        return unsafe inner.pullError()
    }

    func close() {
        guard callable() != nil else { return }
        let inner = self.inner
        state.withLock { $0 = .closed }
        inner?.close()
    }

    /// The output pointer, unless the plugin passed NULL, which is a violation.
    private func placed<Value>(_ place: UnsafeMutablePointer<Value>?) -> UnsafeMutablePointer<Value>? {
        if unsafe place == nil {
            load?.cut(by: ContractViolation(.structsAreWhole, "NULL was given instead of a place for the result of a nested load"))
        }
        return unsafe place
    }

    /// The parent load, if this thread may use the nested load.
    private func callable() -> HostedLoad? {
        guard let load else { return nil }
        guard load.isInCall else {
            load.strayCall()
            return nil
        }
        guard !isClosed else {
            load.cut(by: ContractViolation(.nestedIsOpen, "a nested load was used after it was closed"))
            return nil
        }
        return load
    }

    /// The state of the nested load. Waits if the parent load is blocking. `nil` if the parent load is over.
    private func pull<Value>(_ poll: (InnerLoad) -> InnerLoad.Pull<Value>) -> InnerLoad.Pull<Value>? {
        guard let load = callable(), let inner else { return nil }
        let waited = load.calls.wait { () -> InnerLoad.Pull<Value>? in
            let pull = poll(inner)
            if case .nothing = pull { return nil }
            return pull
        }
        switch waited {
        case .value(let pull): return load.isOver ? nil : pull
        case .later: return load.isOver ? nil : .nothing
        case .stopped:
            _ = load.stopped()
            return nil
        }
    }
}

/// The functions of `portolan.nested/1`.
@safe
struct NestedTable: Sendable {
    static let identifier = PORTOLAN_NESTED

    /// Lives as long as the process, because plugins may retain it.
    nonisolated(unsafe) static let pointer: UnsafePointer<portolan_nested_table> = {  // … because it never changes
        let table = UnsafeMutablePointer<portolan_nested_table>.allocate(capacity: 1)
        unsafe table.initialize(
            to: portolan_nested_table(
                size: UInt32(MemoryLayout<portolan_nested_table>.size), reserved: 0,
                open: { client, change in
                    unsafe client.withLoad { unsafe ActiveNestedLoad.open(in: $0, change.orNil).pointer }
                },
                response: { nested, place in unsafe ActiveNestedLoad.at(nested)?.response(place.orNil) ?? PORTOLAN_STOPPED },
                next: { nested, place in unsafe ActiveNestedLoad.at(nested)?.next(place.orNil) ?? Int64(PORTOLAN_STOPPED.rawValue) },
                error: { nested in unsafe ActiveNestedLoad.at(nested)?.error() },
                close: { nested in unsafe ActiveNestedLoad.at(nested)?.close() }))
        return unsafe UnsafePointer(table)
    }()
}
