// SPDX-License-Identifier: Apache-2.0

import CPortolanFFI
import PortolanCore

/// A C function that the library calls (`ffi_closure_alloc`). It serves one load at a time.
///
/// The function is never freed. If the library calls it after the end of its load or of `setup`, the function returns
/// the value of `stopped`, or 0.
@safe
final class CallbackSlot: @unchecked Sendable {  // … because the closure does not change, and the rest is locked
    let index: Int
    private struct State {
        var execution: BindingExecution?
        /// Whether a late call was reported. Only the first one is reported.
        var hasReportedLateCall = false
    }

    /// The address of the function for the library.
    let address: UInt
    private let closure: UnsafeMutablePointer<ffi_closure>
    private let callback: Callback
    /// Retained, because the closure uses it even after the binding is released.
    private let interface: CallInterface
    private let state = ConditionLock(State())
    private let report: @Sendable (String) -> Void

    /// - Throws: ``LoadError/Code/noResources``.
    init(
        _ callback: Callback, at index: Int, _ interface: CallInterface, report: @escaping @Sendable (String) -> Void
    ) throws(LoadError) {
        var code: UnsafeMutableRawPointer?
        let memory = unsafe ffi_closure_alloc(MemoryLayout<ffi_closure>.size, &code)
        guard let memory = unsafe memory, let code = unsafe code else {
            throw LoadError(.noResources, message: "no callback could be made; run fewer loads at the same time")
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

    /// Sets the execution that handles the next calls. `nil` after the end of a load.
    func setExecution(_ execution: BindingExecution?) {
        state.withLock { state in
            state.execution = execution
            if execution != nil { state.hasReportedLateCall = false }
        }
    }

    private func call(_ arguments: UnsafeMutablePointer<UnsafeMutableRawPointer?>?, _ result: UnsafeMutableRawPointer?) {
        let (execution, shouldReport) = state.withLock { state in
            defer { if state.execution == nil { state.hasReportedLateCall = true } }
            return (state.execution, !state.hasReportedLateCall)
        }
        var returnValue: Int128?
        if let execution, let arguments = unsafe arguments {
            returnValue = unsafe execution.handleCallback(callback, arguments)
        } else if shouldReport {
            report("the callback '\(callback.name)' was called after the end of its load; it returned 'stopped', or 0")
        }
        let isVoid = if case .void = callback.signature.result { true } else { false }
        guard !isVoid, let result = unsafe result else { return }
        let value: Int128 = returnValue ?? { if case .integer(let integer) = callback.stopped { integer } else { 0 } }()
        // libffi reads a whole word, even if the type is narrower.
        unsafe result.storeBytes(of: UInt64(truncatingIfNeeded: value), as: UInt64.self)
    }
}

/// The unused callback slots of one binding, for later loads.
final class CallbackPool: Sendable {
    private let callbacks: [Callback]
    private let interfaces: [CallInterface]
    private let report: @Sendable (String) -> Void
    /// The free slots, by the index of their callback.
    private let freeSlots = ConditionLock([Int: [CallbackSlot]]())

    init(_ program: LinkedProgram, report: @escaping @Sendable (String) -> Void) {
        callbacks = program.program.callbacks
        interfaces = program.callbackInterfaces
        self.report = report
    }

    func acquire(_ index: Int) throws(LoadError) -> CallbackSlot {
        if let slot = freeSlots.withLock({ $0[index]?.popLast() }) { return slot }
        return try CallbackSlot(callbacks[index], at: index, interfaces[index], report: report)
    }

    func release(_ slot: CallbackSlot) {
        freeSlots.withLock { $0[slot.index, default: []].append(slot) }
    }
}
