// SPDX-License-Identifier: Apache-2.0

import PortolanJSON

/// Checks a call of a manifest, and assigns its arguments to the parameters of its function.
struct CallChecker {
    let functions: [NamedValue<Signature>]
    let callbacks: [Callback]
    /// Whether the checked calls clean up, describe errors or stop loads. Such calls must not define variables or pass
    /// callbacks.
    var isAuxiliary = false

    static let bufferLimit: Int128 = 16 << 20

    func checkCall(_ source: CallSource, _ scope: inout Scope) throws(BindingError) -> Call {
        guard let index = functions.firstIndex(where: { $0.name == source.function }) else {
            throw BindingError("'\(source.function)' is not among the 'functions'; write its signature there", at: JSONPath()["call"])
        }
        let signature = functions[index].value
        let (neededCount, actualCount) = (signature.parameters.count(where: \.takesArgument), source.arguments.count)
        let maximumCount = neededCount + (signature.isVariadic ? Signature.parameterLimit : 0)
        guard (neededCount...maximumCount).contains(actualCount) else {
            let upperBound = signature.isVariadic ? " to \(maximumCount)" : ""
            throw BindingError(
                "has \(actualCount) arguments, but '\(source.function)' takes \(neededCount)\(upperBound); "
                    + "lengths, callbacks and user data are added automatically",
                at: JSONPath()["with"])
        }
        // Arguments are checked against a copy of the scope, so that no argument sees a name that another one defines.
        var (operands, newScope, nextArgument) = ([Operand](), scope, 0)
        for parameter in signature.parameters {
            guard parameter.takesArgument else {
                operands.append(try implicitOperand(of: parameter))
                continue
            }
            let argument = source.arguments[nextArgument]
            operands.append(
                try Self.checkArgument(nextArgument) { () throws(BindingError) in
                    try operand(argument, for: parameter, scope, &newScope)
                })
            nextArgument += 1
        }
        // Each length operand refers to its bytes or buffer.
        for (index, parameter) in signature.parameters.enumerated() {
            switch parameter.kind {
            case .bytes(let length), .buffer(let length, _):
                for lengthIndex in length { operands[lengthIndex] = try lengthOperand(of: index, signature.parameters[lengthIndex]) }
            default: break
            }
        }
        while nextArgument < actualCount {
            let argument = source.arguments[nextArgument]
            operands.append(
                try Self.checkArgument(nextArgument) { () throws(BindingError) in try variadicOperand(argument, scope, &newScope) })
            nextArgument += 1
        }
        scope = newScope
        var freedBy: Int?
        switch signature.result {
        case .value(_, let name?), .bytes(_, let name?): freedBy = functions.firstIndex { $0.name == name }
        default: break
        }
        return Call(
            function: index, operands: operands, fixedCount: signature.isVariadic ? signature.parameters.count : nil,
            result: signature.result, freedBy: freedBy)
    }

    private static func checkArgument(
        _ index: Int, _ check: () throws(BindingError) -> Operand
    ) throws(BindingError) -> Operand {
        try prependingStep(.member("with")) { () throws(BindingError) in try prependingStep(.element(index), toErrorsOf: check) }
    }

    private func lengthOperand(of index: Int, _ parameter: Parameter) throws(BindingError) -> Operand {
        guard case .value(.scalar(let scalar)) = parameter.kind else {
            throw BindingError("has a length parameter that is not an integer")
        }
        return .length(of: index, scalar)
    }

    /// Returns the operand of a parameter that takes no argument.
    private func implicitOperand(of parameter: Parameter) throws(BindingError) -> Operand {
        switch parameter.kind {
        case .userData: return .userData
        case .callback(let name): return try callbackOperand(name)
        case .outParameter(.scalar(let scalar), _): return .outLength(scalar)
        // `checkCall(_:_:)` replaces this operand with the length of its bytes or buffer.
        case .value(let type): return .value(.null, type)
        case .outParameter, .bytes, .outBytes, .buffer: throw BindingError("has a length parameter that is not an integer")
        }
    }

    private func callbackOperand(_ name: String) throws(BindingError) -> Operand {
        guard !isAuxiliary else {
            throw BindingError("passes the callback '\(name)' in a call for cleanup, error or stop; only the call of a step can pass one")
        }
        guard let index = callbacks.firstIndex(where: { $0.name == name }) else {
            throw BindingError("'\(name)' is not among the 'callbacks'; write it there")
        }
        return .callback(index)
    }

    private func operand(
        _ argument: ArgumentSource, for parameter: Parameter, _ scope: Scope, _ newScope: inout Scope
    ) throws(BindingError) -> Operand {
        var argumentScope = scope
        defer { if argumentScope.readsBody { newScope.recordBodyUse() } }
        switch parameter.kind {
        case .value(let type): return .value(try argumentScope.checkValue(argument, for: type), type)
        case .bytes: return .bytes(try argumentScope.checkBytes(argument))
        case .outParameter(let type, let freedBy):
            return .outParameter(
                type, variable: try define(argument, ValueType(type), &newScope),
                freedBy: freedBy.flatMap { name in functions.firstIndex { $0.name == name } })
        case .outBytes(let length): return .outBytes(length: length, variable: try define(argument, ValueType(.bytes), &newScope))
        case .buffer(_, let filledBy):
            let (name, capacity) = try bufferCapacity(argument, &argumentScope)
            return .buffer(capacity: capacity, filledBy: filledBy, variable: try define(.text(name), ValueType(.bytes), &newScope))
        case .callback, .userData: throw BindingError("is an argument for a parameter that takes none")
        }
    }

    /// Returns the name and the size of a buffer.
    private func bufferCapacity(_ argument: ArgumentSource, _ scope: inout Scope) throws(BindingError) -> (String, BufferCapacity) {
        func size(_ argument: ArgumentSource) throws(BindingError) -> Int {
            guard case .number(let text) = argument, let size = Int128(text) else {
                throw BindingError("is a buffer, which is written {\"NAME\": SIZE}, or {\"NAME\": {\"size\": \"{n}\", \"atMost\": SIZE}}")
            }
            guard (1...Self.bufferLimit).contains(size) else {
                throw BindingError("has \(size) bytes, where 1 to \(Self.bufferLimit) are allowed")
            }
            return Int(size)
        }
        switch argument {
        case .sized(let name, let value, let limit):
            let (expression, type) = try scope.checkValue(value)
            guard type.kind == .integer, !type.isOptional else {
                throw BindingError("has \(type.phrase) as the size of a buffer, where an integer is needed")
            }
            return (name, .value(expression, limit: try size(limit)))
        case .typed(let name, let value): return (name, .constant(try size(value)))
        case .null, .boolean, .number, .text: return ("", .constant(try size(.null)))
        }
    }

    private func define(_ argument: ArgumentSource, _ type: ValueType, _ scope: inout Scope) throws(BindingError) -> Int {
        guard !isAuxiliary else {
            throw BindingError("names an output in a call for cleanup, error or stop; only the call of a step can have one")
        }
        guard case .text(let name) = argument else { throw BindingError("needs a name for the function's output") }
        return try scope.define(name, type)
    }

    /// Parses `{"TYPE": value}`.
    private func variadicOperand(_ argument: ArgumentSource, _ scope: Scope, _ newScope: inout Scope) throws(BindingError) -> Operand {
        guard case .typed(let word, let value) = argument else {
            throw BindingError("is after the '...', so it must give its type: {\"cstring\": \"{url}\"}")
        }
        switch word {
        case "user": return .userData
        case "callback":
            guard case .text(let name) = value else { throw BindingError("needs the name of a callback") }
            return try callbackOperand(name)
        default: break
        }
        guard let parameter = try Parameter(parsing: word) else { throw BindingError("'\(word)' is not the type of one argument") }
        switch parameter.kind {
        case .value(.scalar(let scalar)) where !scalar.isKeptByPromotion:
            throw BindingError("'\(word)' is not a type that C passes after '...'; use int, or double for float")
        case .value, .outParameter: return try operand(value, for: parameter, scope, &newScope)
        case .bytes, .outBytes, .buffer, .callback, .userData:
            throw BindingError("'\(word)' can't be used after '...'; write a callback as {\"callback\": \"NAME\"}")
        }
    }
}
