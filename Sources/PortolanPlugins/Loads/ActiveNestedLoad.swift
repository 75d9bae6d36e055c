// SPDX-License-Identifier: Apache-2.0

import CPortolan
import PortolanCore
import Synchronization

/// The host's object for a `portolan_nested`: a nested load that a plugin's load has opened.
///
/// The object lives until the parent load is destroyed, so that a use after `close` is a violation and not a dangling
/// pointer.
@safe
final class ActiveNestedLoad: @unchecked Sendable {  // … because `parent` does not change, and the state is locked
    private enum State {
        case open(BufferedNestedLoad)
        /// The parent load has ended, or could not open a nested load.
        case unavailable
        /// The plugin has called `close`.
        case closed
    }

    private let state: Mutex<State>
    private weak let parent: HostedLoad?

    /// The result of `open` if no nested load can be opened. Reads return that the parent load has ended, and `close`
    /// does nothing.
    static let none = ActiveNestedLoad(load: nil, parent: nil)

    private init(load: BufferedNestedLoad?, parent: HostedLoad?) {
        state = Mutex(load.map { .open($0) } ?? .unavailable)
        self.parent = parent
    }

    private var openLoad: BufferedNestedLoad? {
        state.withLock { state in
            if case .open(let load) = state { load } else { nil }
        }
    }

    private var isClosed: Bool {
        state.withLock { state in
            if case .closed = state { true } else { false }
        }
    }

    /// Stops the nested load. Called by the host on any thread.
    func stop() {
        openLoad?.close()
    }

    private convenience init(in parent: HostedLoad) {
        self.init(load: BufferedNestedLoad(parentClient: parent.client) { [weak parent] in parent?.wake() }, parent: parent)
    }

    var pointer: OpaquePointer { unsafe OpaquePointer(Unmanaged.passUnretained(self).toOpaque()) }

    /// `nil` for NULL, which the contract forbids.
    static func at(_ pointer: OpaquePointer) -> ActiveNestedLoad? {
        guard let address = unsafe UnsafeRawPointer(bitPattern: UInt(bitPattern: pointer)) else { return nil }
        return unsafe Unmanaged<ActiveNestedLoad>.fromOpaque(address).takeUnretainedValue()
    }

    // MARK: Calls by the plugin

    static func open(in load: HostedLoad, _ change: UnsafePointer<portolan_change>?) -> ActiveNestedLoad {
        guard load.isInCall else {
            load.rejectMisplacedCall()
            return none
        }
        let cChange: portolan_change
        let request: Request
        let nestedLoad = ActiveNestedLoad(in: load)
        do throws(ContractViolation) {
            unsafe cChange = try portolan_change.read(change)
            request = try unsafe load.request.applying(cChange)
        } catch  where error.rule == .redirectParses {
            // `response` reports that the URL is invalid.
            load.add(nestedLoad)
            nestedLoad.openLoad?.fail(LoadError(.badURL, message: Text.oneLine(error.detail)))
            return nestedLoad
        } catch {
            load.fail(with: error)
            return none
        }
        if request.body != nil { load.upload.transferToNestedLoad() }
        load.add(nestedLoad)
        nestedLoad.openLoad?.start(request)
        return nestedLoad
    }

    func response(_ result: UnsafeMutablePointer<UnsafePointer<portolan_response>?>?) -> portolan_flow {
        guard let result = unsafe checkResultPointer(result) else { return PORTOLAN_STOPPED }
        let pull = unsafe pull { unsafe $0.pullResponse() }
        switch unsafe pull {
        case .value(let response)?:
            unsafe result.pointee = unsafe response
            return PORTOLAN_CONTINUE
        case .pending?: return PORTOLAN_WAIT
        case .end?, .failed?, nil: return PORTOLAN_STOPPED
        }
    }

    func next(_ result: UnsafeMutablePointer<UnsafeRawPointer?>?) -> Int64 {
        guard let result = unsafe checkResultPointer(result) else { return Int64(PORTOLAN_STOPPED.rawValue) }
        let pull = unsafe pull { unsafe $0.pullBytes() }
        switch unsafe pull {
        case .value(let bytes)?:
            unsafe result.pointee = bytes.baseAddress
            return Int64(bytes.count)
        case .end?: return 0
        case .pending?: return Int64(PORTOLAN_WAIT.rawValue)
        case .failed?, nil: return Int64(PORTOLAN_STOPPED.rawValue)
        }
    }

    func error() -> UnsafePointer<portolan_error>? {
        guard let parent = parentIfCallable(), let openLoad, !parent.isOver else { return nil }
        return unsafe openLoad.pullError()
    }

    func close() {
        guard parentIfCallable() != nil else { return }
        let openLoad = self.openLoad
        state.withLock { $0 = .closed }
        openLoad?.close()
    }

    /// Fails the parent load if the plugin passed NULL instead of a pointer for the result.
    private func checkResultPointer<Value>(_ result: UnsafeMutablePointer<Value>?) -> UnsafeMutablePointer<Value>? {
        if unsafe result == nil {
            parent?.fail(with: ContractViolation(.structsAreWhole, "NULL was passed instead of a pointer for the result of a nested load"))
        }
        return unsafe result
    }

    /// Returns the parent load if this thread can use the nested load. Otherwise reports the violation.
    private func parentIfCallable() -> HostedLoad? {
        guard let parent else { return nil }
        guard parent.isInCall else {
            parent.rejectMisplacedCall()
            return nil
        }
        guard !isClosed else {
            parent.fail(with: ContractViolation(.nestedIsOpen, "a nested load was used after it was closed"))
            return nil
        }
        return parent
    }

    /// Reads from the nested load. Waits if the parent load is blocking. Returns `nil` if the parent load has ended, or
    /// if this thread cannot use the nested load.
    private func pull<Value>(_ poll: (BufferedNestedLoad) -> BufferedNestedLoad.Pull<Value>) -> BufferedNestedLoad.Pull<Value>? {
        guard let parent = parentIfCallable(), let openLoad else { return nil }
        let result = parent.calls.wait { () -> BufferedNestedLoad.Pull<Value>? in
            let pull = poll(openLoad)
            if case .pending = pull { return nil }
            return pull
        }
        switch result {
        case .value(let pull): return parent.isOver ? nil : pull
        case .later: return parent.isOver ? nil : .pending
        case .stopped:
            _ = parent.stopped()
            return nil
        }
    }
}

/// The functions of `portolan.nested/1`.
@safe
struct NestedTable: Sendable {
    static let identifier = PORTOLAN_NESTED

    /// Lives as long as the process, because plugins can keep the pointer.
    nonisolated(unsafe) static let pointer: UnsafePointer<portolan_nested_table> = {  // … because it never changes
        let table = UnsafeMutablePointer<portolan_nested_table>.allocate(capacity: 1)
        unsafe table.initialize(
            to: portolan_nested_table(
                size: UInt32(MemoryLayout<portolan_nested_table>.size), reserved: 0,
                open: { client, change in
                    unsafe client.withLoad { unsafe ActiveNestedLoad.open(in: $0, change.orNil).pointer }
                },
                response: { nested, result in unsafe ActiveNestedLoad.at(nested)?.response(result.orNil) ?? PORTOLAN_STOPPED },
                next: { nested, result in unsafe ActiveNestedLoad.at(nested)?.next(result.orNil) ?? Int64(PORTOLAN_STOPPED.rawValue) },
                error: { nested in unsafe ActiveNestedLoad.at(nested)?.error() },
                close: { nested in unsafe ActiveNestedLoad.at(nested)?.close() }))
        return unsafe UnsafePointer(table)
    }()
}
