// SPDX-License-Identifier: Apache-2.0

import CPortolanFFI

/// Calls functions of one signature, if necessary through libffi. The interface is prepared once (`ffi_prep_cif`,
/// `ffi_prep_cif_var`), and all calls use it.
@safe
package final class CallInterface: @unchecked Sendable {  // … because nothing changes it after `init`
    private let interface: UnsafeMutablePointer<ffi_cif>
    private let types: UnsafeMutablePointer<UnsafeMutablePointer<ffi_type>?>
    private let argumentCount: Int
    /// How the function is called: directly, through the variadic trampoline, or through libffi.
    private enum Method { case words, variadicWords, libffi }
    private let method: Method

    /// - Parameter fixedCount: The number of parameters before `...`. `nil` if the function has no `...`.
    /// - Throws: If libffi does not support the signature.
    init(result: FFIType, parameters: [FFIType], fixedCount: Int? = nil) throws(BindingError) {
        unsafe interface = .allocate(capacity: 1)
        unsafe types = .allocate(capacity: max(parameters.count, 1))
        argumentCount = parameters.count
        let usesOnlyWords = Self.passesWords && parameters.count <= 6 && result.isWord && parameters.allSatisfy(\.isWord)
        method = !usesOnlyWords || fixedCount == 0 ? .libffi : fixedCount == nil ? .words : .variadicWords
        for (index, type) in parameters.enumerated() { unsafe (types + index).initialize(to: type.ffiType) }
        let status =
            if let fixedCount {
                unsafe ffi_prep_cif_var(
                    interface, FFI_DEFAULT_ABI, UInt32(fixedCount), UInt32(parameters.count), result.ffiType, types)
            } else {
                unsafe ffi_prep_cif(interface, FFI_DEFAULT_ABI, UInt32(parameters.count), result.ffiType, types)
            }
        guard status == FFI_OK else {
            throw BindingError("can't be called on this machine: libffi does not support such a call (status \(status.rawValue))")
        }
    }

    deinit {
        unsafe types.deallocate()
        unsafe interface.deallocate()
    }

    package typealias Function = @convention(c) () -> Void

    /// Calls `function` with the arguments in `frame`, one for each parameter, and stores the result in `frame`.
    @inline(__always)
    func call(_ function: Function, _ frame: CallFrame) {
        switch method {
        case .words: unsafe frame.result.pointee = Self.callWords(function, frame.cells, count: argumentCount)
        case .variadicWords: unsafe frame.result.pointee = portolan_ffi_call_variadic(function, frame.cells, argumentCount)
        case .libffi: unsafe ffi_call(interface, function, frame.result, frame.addresses)
        }
    }

    /// Makes `closure` a function of this signature that calls `implementation` with `context`
    /// (`ffi_prep_closure_loc`).
    ///
    /// - Returns: whether libffi could prepare the closure.
    func prepare(
        _ closure: UnsafeMutablePointer<ffi_closure>, at code: UnsafeMutableRawPointer, _ context: UnsafeMutableRawPointer,
        _ implementation: @escaping ClosureFunction
    ) -> Bool {
        unsafe ffi_prep_closure_loc(closure, interface, implementation, context, code) == FFI_OK
    }

    /// The function that libffi calls for a closure.
    typealias ClosureFunction =
        @convention(c) (
            UnsafeMutablePointer<ffi_cif>?, UnsafeMutableRawPointer?, UnsafeMutablePointer<UnsafeMutableRawPointer?>?,
            UnsafeMutableRawPointer?
        ) -> Void
}
