// SPDX-License-Identifier: Apache-2.0

import CPortolanFFI

/// A C type as libffi describes it.
enum FFIType: Hashable, Sendable {
    case void, pointer
    case scalar(ScalarType)

    init(_ type: CType) {
        switch type {
        case .scalar(let scalar): self = .scalar(scalar)
        case .text, .pointer: self = .pointer
        }
    }

    init(_ result: Signature.ReturnType) {
        switch result {
        case .void: self = .void
        case .value(let type, _): self.init(type)
        case .bytes: self = .pointer
        }
    }

    init(_ operand: Operand) {
        switch operand {
        case .value(_, let type): self.init(type)
        case .length(_, let scalar): self = .scalar(scalar)
        case .outParameter, .bytes, .buffer, .outBytes, .outLength, .callback, .userData: self = .pointer
        }
    }

    /// The type of a callback's parameter.
    init(_ parameter: Parameter) {
        if case .value(let type) = parameter.kind { self.init(type) } else { self = .pointer }
    }

    var ffiType: UnsafeMutablePointer<ffi_type> {
        switch self {
        case .void: unsafe portolan_ffi_void()
        case .pointer: unsafe portolan_ffi_pointer()
        case .scalar(.float): unsafe portolan_ffi_float()
        case .scalar(.double): unsafe portolan_ffi_double()
        case .scalar(let scalar): unsafe portolan_ffi_integer(Int32(scalar.width), scalar.isSigned ? 1 : 0)
        }
    }
}
