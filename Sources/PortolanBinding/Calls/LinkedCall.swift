// SPDX-License-Identifier: Apache-2.0

import CPortolanFFI
import PortolanJSON

/// A call with the address of its function.
@safe
final class LinkedCall: @unchecked Sendable {  // … because it is immutable, and an opened library is never closed
    let call: Call
    /// The parts of the call that do not depend on the load.
    let plan: CallPlan
    let name: String
    let interface: CallInterface
    let function: CallInterface.Function
    /// The function that frees the pointer in the result. `nil` if the result is not freed.
    let free: FreeingFunction?
    /// The functions that free texts in outputs, each with the index of the output's operand.
    let outputFrees: [(operand: Int, free: FreeingFunction)]

    typealias FreeingFunction = (interface: CallInterface, function: CallInterface.Function)

    init(
        _ call: Call, name: String, interface: CallInterface, function: @escaping CallInterface.Function,
        free: FreeingFunction?, outputFrees: [(operand: Int, free: FreeingFunction)]
    ) {
        self.call = call
        plan = CallPlan(call)
        self.name = name
        self.interface = interface
        self.function = function
        self.free = free
        self.outputFrees = outputFrees
    }
}

/// A step with the addresses of the functions that it calls.
final class LinkedStep: Sendable {
    let step: Step
    /// The step's call, its cleanup, and the call that describes its error.
    let call, cleanup, text: LinkedCall?
    /// The conditions on the result of the call.
    let check, until: Comparison?
    /// The variables of the outputs that the `deliver` template of a repeated call uses, or whose length it uses. Empty
    /// if the call is not repeated. The result is not included, because the last result ends the repetition and is not
    /// data.
    let deliveredOutputs: [Int]
    /// Whether the result is a text that is only delivered. It is then delivered from the library's memory, and can
    /// have any length.
    let deliversTextOfLibrary: Bool
    /// The steps of a loop or group.
    let steps: [LinkedStep]

    init(
        _ step: Step, call: LinkedCall? = nil, cleanup: LinkedCall? = nil, text: LinkedCall?, steps: [LinkedStep] = [],
        useCounts: [Int: Int] = [:]
    ) {
        self.step = step
        self.steps = steps
        (self.call, self.cleanup, self.text) = (call, cleanup, text)
        guard case .call(let action) = step.action else {
            (check, until, deliveredOutputs, deliversTextOfLibrary) = (nil, nil, [], false)
            return
        }
        check = action.check.map(Comparison.init)
        until = action.until.map(Comparison.init)
        deliveredOutputs = action.until == nil ? [] : Self.deliveredOutputs(of: action)
        deliversTextOfLibrary = Self.deliversTextOfLibrary(action, useCounts)
    }
}

extension LinkedStep {
    /// - Parameter useCounts: The number of places that use each variable.
    private static func deliversTextOfLibrary(_ action: Step.CallStep, _ useCounts: [Int: Int]) -> Bool {
        guard case .value(.text, _) = action.call.result, let result = action.result, useCounts[result] == 1,
            case .source(.variable(result), _) = action.deliver
        else { return false }
        // A condition on the text needs all of it, and so does the error of a step whose check a text fails.
        let isAnyTextValid = if case .isNull(false)? = action.check?.test { true } else { action.check == nil }
        let endsOnlyAtNULL = if case .isNull? = action.until?.test { true } else { action.until == nil }
        return isAnyTextValid && endsOnlyAtNULL
    }

    private static func deliveredOutputs(of action: Step.CallStep) -> [Int] {
        let outputs = action.call.operands.compactMap { operand in
            switch operand {
            case .outParameter(_, let variable, _), .outBytes(_, let variable), .buffer(_, _, let variable): variable
            case .value, .bytes, .length, .outLength, .callback, .userData: nil
            }
        }
        let deliveredVariables = action.deliver?.variables ?? []
        return outputs.filter(deliveredVariables.contains)
    }
}

/// A program with the addresses of its functions. All loads of a binding share it.
@safe
final class LinkedProgram: @unchecked Sendable {  // … because it is immutable
    let program: BindingProgram
    let setup, steps: [LinkedStep]
    let stop: LinkedCall?
    let callbackInterfaces: [CallInterface]

    /// - Parameter symbol: Returns the address of a function; `nil` if the library does not have the function.
    /// - Throws: If a function is missing, or cannot be called.
    init(_ program: BindingProgram, symbol: (String) -> UnsafeMutableRawPointer?) throws(BindingError) {
        self.program = program
        var linker = Linker(program)
        for function in program.functions {
            try prependingStep(.member("functions")) { () throws(BindingError) in
                guard let address = unsafe symbol(function.name) else {
                    throw BindingError(
                        "the library has no function '\(function.name)'; check the function's name and the library's version",
                        at: JSONPath()[function.name].name)
                }
                guard unsafe portolan_ffi_is_function(address) != 0 else {
                    throw BindingError(
                        "'\(function.name)' is a variable of the library, not a function; only functions can be called",
                        at: JSONPath()[function.name].name)
                }
                unsafe linker.addresses.append(unsafeBitCast(address, to: CallInterface.Function.self))
            }
        }
        setup = try linker.link(program.setup, in: "setup")
        steps = try linker.link(program.steps, in: "steps")
        stop = try prependingStep(.member("stop")) { () throws(BindingError) -> LinkedCall? in
            guard case .function(let call) = program.stop else { return nil }
            return try linker.link(call)
        }
        callbackInterfaces = try prependingStep(.member("callbacks")) { () throws(BindingError) in
            try program.callbacks.mapMembers(named: \.name) { callback throws(BindingError) in
                try CallInterface(
                    result: FFIType(callback.signature.result), parameters: callback.signature.parameters.map { FFIType($0) })
            }
        }
    }
}

/// Adds the addresses of functions to calls.
@safe
private struct Linker {
    let program: BindingProgram
    /// The addresses of the program's functions, in their order.
    var addresses: [CallInterface.Function] = []
    /// The number of places that use each variable.
    private let useCounts: [Int: Int]

    init(_ program: BindingProgram) {
        self.program = program
        useCounts = Dictionary(program.usedVariables.map { ($0, 1) }, uniquingKeysWith: +)
    }

    /// - Parameter member: The name of the member of `binding` that has these steps.
    func link(_ steps: [Step], in member: String) throws(BindingError) -> [LinkedStep] {
        try prependingStep(.member(member)) { () throws(BindingError) in
            try steps.mapElements { step throws(BindingError) in try link(step) }
        }
    }

    private func link(_ step: Step) throws(BindingError) -> LinkedStep {
        let text = try step.failure.text.map { call throws(BindingError) in try link(call) }
        if case .loop(let steps, _) = step.action { return LinkedStep(step, text: text, steps: try link(steps, in: "loop")) }
        if case .steps(let steps) = step.action { return LinkedStep(step, text: text, steps: try link(steps, in: "steps")) }
        guard case .call(let action) = step.action else { return LinkedStep(step, text: text) }
        return LinkedStep(
            step, call: try link(action.call),
            cleanup: try action.cleanup.map { call throws(BindingError) in try link(call) }, text: text, useCounts: useCounts)
    }

    func link(_ call: Call) throws(BindingError) -> LinkedCall {
        let interface = try CallInterface(
            result: FFIType(call.result), parameters: call.operands.map { FFIType($0) }, fixedCount: call.fixedCount)
        var outputFrees: [(operand: Int, free: LinkedCall.FreeingFunction)] = []
        for (index, operand) in call.operands.enumerated() {
            guard case .outParameter(_, _, let function?) = operand else { continue }
            outputFrees.append((index, try freeingFunction(function)))
        }
        return LinkedCall(
            call, name: program.functions[call.function].name, interface: interface, function: addresses[call.function],
            free: try call.freedBy.map { index throws(BindingError) in try freeingFunction(index) }, outputFrees: outputFrees)
    }

    private func freeingFunction(_ index: Int) throws(BindingError) -> LinkedCall.FreeingFunction {
        let result = FFIType(program.functions[index].value.result)
        return (try CallInterface(result: result, parameters: [.pointer]), addresses[index])
    }
}
