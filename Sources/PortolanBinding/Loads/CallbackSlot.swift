// SPDX-License-Identifier: Apache-2.0

import CPortolanFFI
import PortolanCore

/// A C function that the library calls, with the load that it serves at present (`ffi_closure_alloc`).
///
/// It is never freed. If the library calls it after its load or `setup` is over, it returns `stopped`, and reaches no
/// load.
@safe
final class CallbackSlot: @unchecked Sendable {  // … because the closure does not change, and the rest is in a monitor
    let index: Int
    private struct Service {
        var run: BoundRun?
        /// Whether a late call was reported; only the first one is.
        var isReported = false
    }

    /// The address of the function for the library.
    let address: UInt
    private let closure: UnsafeMutablePointer<ffi_closure>
    private let callback: Callback
    /// Retained for the closure, because the library may call it after the binding is gone.
    private let interface: CallInterface
    private let service = ConditionLock(Service())
    private let report: @Sendable (String) -> Void

    /// - Throws: ``LoadError/Code/noResources``.
    init(
        _ callback: Callback, at index: Int, _ interface: CallInterface, report: @escaping @Sendable (String) -> Void
    ) throws(LoadError) {
        var code: UnsafeMutableRawPointer?
        let memory = unsafe ffi_closure_alloc(MemoryLayout<ffi_closure>.size, &code)
        guard let memory = unsafe memory, let code = unsafe code else {
            throw LoadError(.noResources, message: "no callback could be made; run fewer loads at once")
        }
        unsafe closure = memory.assumingMemoryBound(to: ffi_closure.self)
        address = UInt(bitPattern: code)
        self.index = index
        self.callback = callback
        self.interface = interface
        self.report = report
        let context = unsafe Unmanaged.passRetained(self).toOpaque()
        let isPrepared = unsafe interface.prepare(closure, at: code, context) { _, result, arguments, context in
            guard let context = unsafe context else { return }
            let slot = unsafe Unmanaged<CallbackSlot>.fromOpaque(context).takeUnretainedValue()
            unsafe slot.call(arguments, result)
        }
        guard isPrepared else { throw LoadError(.noResources, message: "no callback could be made on this machine") }
    }

    func serve(_ run: BoundRun?) {
        service.withLock { service in
            service.run = run
            if run != nil { service.isReported = false }
        }
    }

    private func call(_ arguments: UnsafeMutablePointer<UnsafeMutableRawPointer?>?, _ result: UnsafeMutableRawPointer?) {
        let (run, isNews) = service.withLock { service in
            defer { if service.run == nil { service.isReported = true } }
            return (service.run, !service.isReported)
        }
        var returned: Int128?
        if let run, let arguments = unsafe arguments {
            returned = unsafe run.called(callback, arguments)
        } else if isNews {
            report("the callback '\(callback.name)' was called after the end of its load; it returned 'stopped', or 0")
        }
        let isVoid = if case .void = callback.signature.result { true } else { false }
        guard !isVoid, let result = unsafe result else { return }
        let value: Int128 = returned ?? { if case .integer(let integer) = callback.stopped { integer } else { 0 } }()
        // libffi reads a whole word, even if the type is narrower.
        unsafe result.storeBytes(of: UInt64(truncatingIfNeeded: value), as: UInt64.self)
    }
}

/// The unused callbacks of one binding, retained for the next load.
final class CallbackPool: Sendable {
    private let callbacks: [Callback]
    private let interfaces: [CallInterface]
    private let report: @Sendable (String) -> Void
    private let free = ConditionLock([Int: [CallbackSlot]]())

    init(_ program: LinkedProgram, report: @escaping @Sendable (String) -> Void) {
        callbacks = program.program.callbacks
        interfaces = program.callbackInterfaces
        self.report = report
    }

    func take(_ index: Int) throws(LoadError) -> CallbackSlot {
        if let slot = free.withLock({ $0[index]?.popLast() }) { return slot }
        return try CallbackSlot(callbacks[index], at: index, interfaces[index], report: report)
    }

    func putBack(_ slot: CallbackSlot) {
        free.withLock { $0[slot.index, default: []].append(slot) }
    }
}
