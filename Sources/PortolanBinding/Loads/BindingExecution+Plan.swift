// SPDX-License-Identifier: Apache-2.0

/// The fast path for calls whose arguments are precomputed in a `CallPlan`.
extension BindingExecution {
    /// Stores the precomputed arguments of a call in the frame.
    ///
    /// - Returns: `false` if a variable is not a pointer. The caller then calls `storeArguments(of:in:)`, which stores
    ///   NULL if the parameter allows it, and otherwise throws.
    @inline(__always)
    func storePrecomputedArguments(_ words: [CallPlan.Word]) -> Bool {
        let cells = unsafe frame.cells
        for index in words.indices {
            switch words[index] {
            case .constant(let word): unsafe cells[index] = word
            case .handle(let variable):
                guard case .pointer(let address)? = variables[variable] else { return false }
                unsafe cells[index] = UInt64(address)
            }
        }
        return true
    }

    @inline(__always)
    func isTrue(_ comparison: Comparison, for value: Value) -> Bool {
        switch (comparison, value) {
        case (.equals(let operand), .integer(let integer)): integer == operand
        case (.differs(let operand), .integer(let integer)): integer != operand
        case (.atLeast(let operand), .integer(let integer)): integer >= operand
        case (.atMost(let operand), .integer(let integer)): integer <= operand
        case (.equals(let operand), .real(let real)): Double(operand) == real
        case (.differs(let operand), .real(let real)): Double(operand) != real
        case (.atLeast(let operand), .real(let real)): real >= Double(operand)
        case (.atMost(let operand), .real(let real)): real <= Double(operand)
        case (.differs, _): true
        case (.equals, _), (.atLeast, _), (.atMost, _): false
        case (.other(let condition), _): isTrue(condition, for: value)
        }
    }
}
