// SPDX-License-Identifier: Apache-2.0

import PortolanJSON

/// Assigns a call's arguments to its function's parameters.
struct CallChecker {
    let functions: [Named<Signature>]
    let callbacks: [Callback]
    /// Whether the call cleans up, describes an error or stops a load. Such calls define no variables and pass no
    /// callbacks.
    var isAuxiliary = false

    static let bufferLimit: Int128 = 16 << 20

    func call(_ source: CallSource, _ scope: inout Scope) throws(BindingProblem) -> Call {
        guard let index = functions.firstIndex(where: { $0.name == source.function }) else {
            throw BindingProblem("'\(source.function)' is not among the 'functions'; write its signature there", at: JSONPath()["call"])
        }
        let signature = functions[index].value
        let (needed, given) = (signature.parameters.count(where: \.takesArgument), source.arguments.count)
        guard given == needed || (signature.isVariadic && given > needed && given <= needed + Signature.parameterLimit) else {
            let most = signature.isVariadic ? " to \(needed + Signature.parameterLimit)" : ""
            throw BindingProblem(
                "has \(given) arguments, but '\(source.function)' takes \(needed)\(most); lengths, callbacks and user data are added automatically",
                at: JSONPath()["with"])
        }
        // Checked against a copy of the scope, so that a name that one argument defines is not visible to the others.
        var (operands, defined, next) = ([Operand](), scope, 0)
        for parameter in signature.parameters {
            guard parameter.takesArgument else {
                operands.append(try implicitOperand(of: parameter, signature))
                continue
            }
            let argument = source.arguments[next]
            operands.append(
                try Self.argument(next) { () throws(BindingProblem) in try operand(argument, for: parameter, scope, &defined) })
            next += 1
        }
        // A length argument names its buffer.
        for (index, parameter) in signature.parameters.enumerated() {
            switch parameter.kind {
            case .bytes(let length), .buffer(let length, _):
                for lengthIndex in length { operands[lengthIndex] = try self.length(of: index, signature.parameters[lengthIndex]) }
            default: break
            }
        }
        while next < given {
            let argument = source.arguments[next]
            operands.append(try Self.argument(next) { () throws(BindingProblem) in try variadic(argument, scope, &defined) })
            next += 1
        }
        scope = defined
        var freedBy: Int?
        switch signature.result {
        case .value(_, let name?), .bytes(_, let name?): freedBy = functions.firstIndex { $0.name == name }
        default: break
        }
        return Call(
            function: index, operands: operands, fixedCount: signature.isVariadic ? signature.parameters.count : nil,
            result: signature.result, freedBy: freedBy)
    }

    private static func argument(
        _ index: Int, _ body: () throws(BindingProblem) -> Operand
    ) throws(BindingProblem) -> Operand {
        try at(.member("with")) { () throws(BindingProblem) in try at(.element(index), body) }
    }

    private func length(of index: Int, _ parameter: Parameter) throws(BindingProblem) -> Operand {
        guard case .value(.scalar(let scalar)) = parameter.kind else {
            throw BindingProblem("has a length parameter that is not an integer")
        }
        return .length(of: index, scalar)
    }

    /// The operand of a parameter without an argument.
    private func implicitOperand(of parameter: Parameter, _ signature: Signature) throws(BindingProblem) -> Operand {
        switch parameter.kind {
        case .user: return .user
        case .callback(let name): return try callback(name)
        case .out(.scalar(let scalar)): return .outLength(scalar)
        // Replaced when the measured argument is known.
        case .value(let type): return .value(.null, type)
        case .out, .bytes, .outBytes, .buffer: throw BindingProblem("has a length parameter that is not an integer")
        }
    }

    private func callback(_ name: String) throws(BindingProblem) -> Operand {
        guard !isAuxiliary else {
            throw BindingProblem("passes the callback '\(name)' in a call for cleanup, error or stop; only the call of a step can")
        }
        guard let index = callbacks.firstIndex(where: { $0.name == name }) else {
            throw BindingProblem("'\(name)' is not among the 'callbacks'; write it there")
        }
        return .callback(index)
    }

    private func operand(
        _ argument: ArgumentSource, for parameter: Parameter, _ scope: Scope, _ defined: inout Scope
    ) throws(BindingProblem) -> Operand {
        var here = scope
        defer { if here.readsBody { defined.noteBody() } }
        switch parameter.kind {
        case .value(let type): return .value(try here.value(argument, for: type), type)
        case .bytes: return .bytes(try here.bytes(argument))
        case .out(let type): return .out(type, variable: try define(argument, ValueType(type), &defined))
        case .outBytes(let length): return .outBytes(length: length, variable: try define(argument, ValueType(.bytes), &defined))
        case .buffer(_, let filledBy):
            guard case .typed(let name, .number(let text)) = argument, let capacity = Int128(text) else {
                throw BindingProblem("is a buffer, which is written {\"NAME\": SIZE}")
            }
            guard (1...Self.bufferLimit).contains(capacity) else {
                throw BindingProblem("has \(capacity) bytes, where 1 to \(Self.bufferLimit) are allowed")
            }
            return .buffer(
                capacity: Int(capacity), filledBy: filledBy, variable: try define(.text(name), ValueType(.bytes), &defined))
        case .callback, .user: throw BindingProblem("is an argument for a parameter that takes none")
        }
    }

    private func define(_ argument: ArgumentSource, _ type: ValueType, _ scope: inout Scope) throws(BindingProblem) -> Int {
        guard !isAuxiliary else {
            throw BindingProblem("names an output in a call for cleanup, error or stop; only the call of a step can")
        }
        guard case .text(let name) = argument else { throw BindingProblem("needs a name for the function's output") }
        return try scope.define(name, type)
    }

    /// Parses `{"TYPE": value}`.
    private func variadic(_ argument: ArgumentSource, _ scope: Scope, _ defined: inout Scope) throws(BindingProblem) -> Operand {
        guard case .typed(let word, let value) = argument else {
            throw BindingProblem("is after the '...', so it must give its type: {\"cstring\": \"{url}\"}")
        }
        switch word {
        case "user": return .user
        case "callback":
            guard case .text(let name) = value else { throw BindingProblem("needs the name of a callback") }
            return try callback(name)
        default: break
        }
        // Uses the scanner and the rules for a signature with this one parameter.
        let parameter = try Signature(parsing: "void (\(word))", as: .function).parameters
        guard parameter.count == 1, let first = parameter.first else { throw BindingProblem("'\(word)' is not the type of one argument") }
        switch first.kind {
        case .value(.scalar(let scalar)) where !scalar.isPromoted:
            throw BindingProblem("'\(word)' is not a type that C passes after '...'; use int, uint or double, to which C promotes it")
        case .value, .out: return try operand(value, for: first, scope, &defined)
        case .bytes, .outBytes, .buffer, .callback, .user:
            throw BindingProblem("'\(word)' can't be used after '...', where no argument can be declared as its length")
        }
    }
}
