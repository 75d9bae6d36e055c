// SPDX-License-Identifier: Apache-2.0

import CPortolan
import PortolanCore

/// What is behind a `portolan_nested`: an inner load that a plugin's load has open.
///
/// It lives until the plugin closes it, or the outer load was destroyed.
@safe
final class OpenNested: @unchecked Sendable {  // … because `load` is read only, and nothing else changes
    /// `nil` for what `open` gives when no inner load may be opened: it says that the outer load is over, and can be closed.
    let inner: InnerLoad?
    private weak let load: HostedLoad?

    static let none = OpenNested(inner: nil, load: nil)

    private init(inner: InnerLoad?, load: HostedLoad?) {
        self.inner = inner
        self.load = load
    }

    private convenience init(in load: HostedLoad) {
        self.init(inner: InnerLoad(outer: load.client) { [weak load] in load?.wake() }, load: load)
    }

    var pointer: OpaquePointer { unsafe OpaquePointer(Unmanaged.passUnretained(self).toOpaque()) }

    static func at(_ pointer: OpaquePointer) -> OpenNested {
        unsafe Unmanaged<OpenNested>.fromOpaque(UnsafeRawPointer(pointer)).takeUnretainedValue()
    }

    // MARK: What the plugin asks

    static func open(in load: HostedLoad, _ change: UnsafePointer<portolan_change>?) -> OpenNested {
        guard load.isInCall else {
            load.strayCall()
            return none
        }
        let read: portolan_change
        let request: Request
        let open = OpenNested(in: load)
        do throws(Breach) {
            unsafe read = try portolan_change.read(change)
            request = try unsafe load.request.applying(read)
        } catch  where error.rule == .redirectParses {
            // What is wrong with the URL, `response` tells.
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

    func response(_ place: UnsafeMutablePointer<UnsafePointer<portolan_response>?>) -> portolan_flow {
        let answer = unsafe pull { unsafe $0.pullResponse() }
        switch unsafe answer {
        case .value(let response)?:
            unsafe place.pointee = unsafe response
            return PORTOLAN_CONTINUE
        case .nothing?: return PORTOLAN_WAIT
        case .end?, .failed?, nil: return PORTOLAN_STOPPED
        }
    }

    func next(_ place: UnsafeMutablePointer<UnsafeRawPointer?>) -> Int64 {
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
        guard let inner, let load, !load.isOver else { return nil }
        return unsafe inner.pullError()
    }

    func close() {
        guard inner != nil else { return }
        load?.close(self)
    }

    /// What the inner load has, waited for where the outer load waits; `nil` where the outer load is over.
    private func pull<Value>(_ poll: (InnerLoad) -> InnerLoad.Pull<Value>) -> InnerLoad.Pull<Value>? {
        guard let inner, let load else { return nil }
        guard load.isInCall else {
            load.strayCall()
            return nil
        }
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

    /// Lives as long as the process, as plugins may keep it.
    nonisolated(unsafe) static let pointer: UnsafePointer<portolan_nested_table> = {  // … because it never changes
        let table = UnsafeMutablePointer<portolan_nested_table>.allocate(capacity: 1)
        unsafe table.initialize(
            to: portolan_nested_table(
                size: UInt32(MemoryLayout<portolan_nested_table>.size), reserved: 0,
                open: { client, change in
                    unsafe client.withLoad { unsafe OpenNested.open(in: $0, change.orNil).pointer }
                },
                response: { nested, place in unsafe OpenNested.at(nested).response(place) },
                next: { nested, place in unsafe OpenNested.at(nested).next(place) },
                error: { nested in unsafe OpenNested.at(nested).error() },
                close: { nested in unsafe OpenNested.at(nested).close() }))
        return unsafe UnsafePointer(table)
    }()
}
