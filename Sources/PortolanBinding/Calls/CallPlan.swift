// SPDX-License-Identifier: Apache-2.0

/// The parts of a call that do not depend on the load. They are computed once, so that a call with only constants and
/// handles as arguments is fast.
struct CallPlan: Sendable {
    /// An argument that needs no evaluation.
    enum Word: Sendable {
        case constant(UInt64)
        /// A handle from an earlier step.
        case handle(variable: Int)
    }

    enum ResultKind: Sendable {
        case nothing
        case scalar(ScalarType)
        case other
    }

    /// The arguments. `nil` if one of them must be evaluated for each call, and on big-endian machines.
    let words: [Word]?
    let resultKind: ResultKind
    /// Whether the function stores a value through one of its arguments.
    let hasOutputs: Bool
    /// Whether the result is the number of bytes that the function stored in a buffer. A negative result is then a
    /// failure.
    let returnsFilledLength: Bool

    init(_ call: Call) {
        words = Self.words(of: call.operands)
        resultKind =
            switch call.result {
            case .void: .nothing
            case .value(.scalar(let scalar), _): .scalar(scalar)
            case .value, .bytes: .other
            }
        hasOutputs = call.operands.contains { operand in
            switch operand {
            case .outParameter, .outBytes, .buffer: true
            case .value, .bytes, .length, .outLength, .callback, .userData: false
            }
        }
        returnsFilledLength = call.operands.contains { if case .buffer(_, filledBy: .result, _) = $0 { true } else { false } }
    }

    /// Returns `nil` if an operand must be evaluated for each call. Also returns `nil` on big-endian machines, where
    /// the bytes of a narrow value do not come first in its word.
    private static func words(of operands: [Operand]) -> [Word]? {
        #if _endian(little)
            var words: [Word] = []
            for operand in operands {
                guard case .value(let expression, let type) = operand, let word = word(expression, type) else { return nil }
                words.append(word)
            }
            return words
        #else
            return nil
        #endif
    }

    private static func word(_ expression: Expression, _ type: CType) -> Word? {
        switch (expression, type) {
        case (.integer(let integer), .scalar(let scalar)) where scalar.isInteger && scalar.range.contains(integer):
            .constant(UInt64(truncatingIfNeeded: integer))
        case (.boolean(let boolean), .scalar(.bool)): .constant(boolean ? 1 : 0)
        case (.null, .text(isOptional: true)), (.null, .pointer(_, isOptional: true)): .constant(0)
        case (.source(.variable(let index), fallback: nil), .pointer): .handle(variable: index)
        default: nil
        }
    }
}

/// A condition on the result of a call. Conditions with one integer are precomputed.
enum Comparison: Sendable {
    case equals(Int128)
    case differs(Int128)
    case atLeast(Int128)
    case atMost(Int128)
    case other(Condition)

    init(_ condition: Condition) {
        switch condition.test {
        case .oneOf(let constants):
            self = if constants.count == 1, case .integer(let integer) = constants[0] { .equals(integer) } else { .other(condition) }
        case .noneOf(let constants):
            self = if constants.count == 1, case .integer(let integer) = constants[0] { .differs(integer) } else { .other(condition) }
        case .atLeast(let bound): self = .atLeast(bound)
        case .atMost(let bound): self = .atMost(bound)
        case .isNull: self = .other(condition)
        }
    }
}
