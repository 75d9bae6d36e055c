// SPDX-License-Identifier: Apache-2.0

/// Calls with precomputed plans.
extension BindingExecution {
    /// Stores the arguments in the frame.
    ///
    /// - Returns: `false` if a handle is missing. `storeArguments` then reports the error.
    @inline(__always)
    func storeWords(_ words: [CallPlan.Word]) -> Bool {
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
    func holds(_ comparison: Comparison, _ value: Value) -> Bool {
        switch (comparison, value) {
        case (.equals(let bound), .integer(let integer)): integer == bound
        case (.differs(let bound), .integer(let integer)): integer != bound
        case (.atLeast(let bound), .integer(let integer)): integer >= bound
        case (.atMost(let bound), .integer(let integer)): integer <= bound
        case (.equals(let bound), .real(let real)): Double(bound) == real
        case (.differs(let bound), .real(let real)): Double(bound) != real
        case (.atLeast(let bound), .real(let real)): real >= Double(bound)
        case (.atMost(let bound), .real(let real)): real <= Double(bound)
        case (.differs, _): true
        case (.equals, _), (.atLeast, _), (.atMost, _): false
        case (.other(let condition), _): holds(condition, value)
        }
    }
}
