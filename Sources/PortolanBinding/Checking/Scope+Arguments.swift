// SPDX-License-Identifier: Apache-2.0

import PortolanJSON

/// Checks of values against C types.
extension Scope {
    mutating func checkValue(_ argument: ArgumentSource, for type: CType) throws(BindingError) -> Expression {
        let (expression, actualType) = try checkValue(argument)
        try Self.check(expression, actualType, for: type)
        return expression
    }

    /// Returns the expression of a value, and its type as far as it is known before the load.
    mutating func checkValue(_ argument: ArgumentSource) throws(BindingError) -> (Expression, ValueType) {
        switch argument {
        case .null: return (.null, ValueType(.null))
        case .boolean(let boolean): return (.boolean(boolean), ValueType(.boolean))
        case .number(let text):
            if let integer = Int128(text) { return (.integer(integer), ValueType(.integer)) }
            guard let real = Double(text), real.isFinite else { throw BindingError("is not a finite double") }
            return (.real(real), ValueType(.real))
        case .text(let text): return try checkTemplate(text)
        case .typed, .sized:
            throw BindingError("is an object, where a value is needed; only a buffer and an argument after '...' are objects")
        }
    }

    mutating func checkBytes(_ argument: ArgumentSource) throws(BindingError) -> Expression {
        let (expression, type) = try checkValue(argument)
        guard (type.kind == .bytes || type.kind == .text) && !type.isOptional else {
            throw BindingError("is \(type.phrase), where bytes are needed")
        }
        return expression
    }

    private static func check(_ expression: Expression, _ actualType: ValueType, for type: CType) throws(BindingError) {
        let needed = ValueType(type)
        let mismatch = BindingError("is \(actualType.phrase), where \(type.phrase) is needed")
        switch (needed.kind, actualType.kind) {
        case (.text, .null), (.pointer, .null):
            guard needed.isOptional else { throw mismatch }
            return
        case (.integer, .integer), (.boolean, .boolean), (.real, .real), (.real, .integer), (.text, .text): break
        case (.integer, .property), (.boolean, .property), (.real, .property), (.text, .property): break
        // As in C, every handle can be used as a pointer, but a pointer cannot be used as a handle.
        case (.pointer(let name), .pointer(let other)): guard name == nil || name == other else { throw mismatch }
        default: throw mismatch
        }
        guard needed.isOptional || !actualType.isOptional else { throw mismatch }
        guard case .scalar(let scalar) = type, scalar.isInteger else { return }
        if let constant = expression.knownInteger, !scalar.range.contains(constant) {
            throw BindingError(
                "is \(constant), which does not fit \(scalar.rawValue) (\(scalar.range.lowerBound) to \(scalar.range.upperBound))")
        }
    }

    // MARK: Conditions

    /// - Parameter type: The type of the tested value. `nil` if the function returns nothing.
    mutating func checkCondition(_ source: ConditionSource, on type: ValueType?) throws(BindingError) -> Condition {
        guard let type else { throw BindingError("checks the result of a function that returns none") }
        if source.relation == .isNull {
            guard type.isOptional, case .boolean(let boolean)? = source.operands.first else {
                throw BindingError(
                    type.isOptional
                        ? "needs true or false for 'isNull'" : "can't be NULL, so 'isNull' has no use here: it is \(type.phrase)")
            }
            return Condition(test: .isNull(boolean))
        }
        var operands: [Expression] = []
        for operand in source.operands {
            let (expression, actualType) = try checkValue(operand)
            let isConstant =
                switch expression {
                case .boolean, .integer, .real, .text: true
                // Or a text or an integer that exists already.
                case .source(let source, _):
                    !source.canFail && source != .result && !actualType.isOptional && [.text, .integer].contains(actualType.kind)
                case .null, .joined: false
                }
            let isComparable =
                actualType.kind == type.kind || (actualType.kind == .integer && type.kind == .real)
                || (actualType.kind != .real && type.kind == .property)
            if case .source(let source, _) = expression, source.canFail {
                throw BindingError("compares with a value that can fail when it is read; write that one as the 'value'")
            }
            guard isConstant, isComparable else {
                throw BindingError(
                    "compares \(type.phrase), but not with a constant of that kind"
                        + ([.text, .integer].contains(type.kind) ? " or a value that is never absent" : "")
                )
            }
            operands.append(expression)
        }
        switch source.relation {
        case .equals, .oneOf: return Condition(test: .oneOf(operands))
        case .differsFrom: return Condition(test: .noneOf(operands))
        case .atLeast, .atMost:
            guard case .integer(let bound)? = operands.first else { throw BindingError("needs an integer; 'equals' takes other values") }
            return Condition(test: source.relation == .atLeast ? .atLeast(bound) : .atMost(bound))
        case .isNull: throw BindingError("needs true or false for 'isNull'")
        }
    }

    mutating func checkGuard(_ source: GuardSource) throws(BindingError) -> Guard {
        var scope = self
        let (value, type) = try prependingStep(.member("value")) { () throws(BindingError) in try scope.checkTemplate(source.value) }
        let condition = try scope.checkCondition(source.condition, on: type)
        self = scope
        return Guard(value: value, condition: condition, phrase: source.value)
    }
}
