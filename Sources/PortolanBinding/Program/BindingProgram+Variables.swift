// SPDX-License-Identifier: Apache-2.0

/// The variables that the parts of a program use. A variable that is used twice is listed twice.
extension BindingProgram {
    var usedVariables: [Int] {
        let stopVariables = if case .function(let call) = stop { call.usedVariables } else { [Int]() }
        return (setup + steps).flatMap(\.usedVariables) + stopVariables
    }
}

extension Step {
    fileprivate var usedVariables: [Int] {
        let failureVariables = (failure.message?.variables ?? []) + (failure.text?.usedVariables ?? [])
        let ownVariables =
            switch action {
            case .call(let step):
                step.call.usedVariables + (step.cleanup?.usedVariables ?? []) + (step.deliver?.variables ?? [])
                    + [step.check, step.until].flatMap { $0?.usedVariables ?? [] }
            case .respond(let response):
                [response.status, response.length, response.mimeType, response.textEncoding, response.filename]
                    .flatMap { $0?.variables ?? [] }
            case .deliver(let value): value.variables
            case .require(let requirement), .break(let requirement): requirement.usedVariables
            case .loop(let steps, _), .steps(let steps): steps.flatMap(\.usedVariables)
            }
        return (when?.usedVariables ?? []) + ownVariables + failureVariables
    }
}

extension Guard {
    fileprivate var usedVariables: [Int] { value.variables + condition.usedVariables }
}

extension Condition {
    fileprivate var usedVariables: [Int] {
        switch test {
        case .oneOf(let operands), .noneOf(let operands): operands.flatMap(\.variables)
        case .atLeast, .atMost, .isNull: []
        }
    }
}

extension Call {
    var usedVariables: [Int] { operands.flatMap(\.usedVariables) }
}

extension Operand {
    fileprivate var usedVariables: [Int] {
        switch self {
        case .value(let expression, _), .bytes(let expression), .buffer(.value(let expression, _), _, _): expression.variables
        case .outParameter, .length, .buffer, .outBytes, .outLength, .callback, .userData: []
        }
    }
}
