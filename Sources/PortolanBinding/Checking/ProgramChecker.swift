// SPDX-License-Identifier: Apache-2.0

package import PortolanCore
import PortolanJSON

extension BindingProgram {
    static let functionLimit = 256
    static let callbackLimit = 16
    static let stepLimit = 128
    static let fieldLimit = 256
    /// The maximum number of bytes that a library delivers, or that a callback fills, at a time.
    static let chunkLimit = 256 << 20

    /// Checks everything that can be checked without the library.
    ///
    /// - Parameter settings: The manifest's settings. The type of a setting is that of its `example`. `isAlwaysSet`
    ///   says whether the setting always has a value.
    package init(
        checking source: BindingSource, settings: [(name: String, example: PropertyValue, isAlwaysSet: Bool)]
    ) throws(BindingError) {
        let types = settings.map { ($0.name, ValueType(ValueType.Kind($0.example), isOptional: !$0.isAlwaysSet)) }
        var checker = try ProgramChecker(source, Scope(settings: Dictionary(types) { $1 }))
        self = try checker.makeCheckedProgram()
    }
}

extension ValueType.Kind {
    fileprivate init(_ value: PropertyValue) {
        switch value {
        case .text: self = .text
        case .bytes: self = .bytes
        case .integer: self = .integer
        case .real: self = .real
        case .boolean: self = .boolean
        }
    }
}

/// Checks the parts of a binding in the order in which a load uses them.
struct ProgramChecker {
    private let source: BindingSource
    private let initialScope: Scope
    /// Checks the calls of steps.
    private let callChecker: CallChecker
    var scope: Scope
    /// The loops around the step that is checked, from the outside to the inside.
    private var loops: [Loop] = []
    /// Checks calls for cleanup, error and stop.
    private var auxiliaryCallChecker: CallChecker {
        var checker = callChecker
        checker.isAuxiliary = true
        return checker
    }

    init(_ source: BindingSource, _ scope: Scope) throws(BindingError) {
        self.source = source
        let functions = try prependingStep(.member("functions")) { () throws(BindingError) in try Self.checkFunctions(source.functions) }
        let callbacks = try prependingStep(.member("callbacks")) { () throws(BindingError) in try Self.checkCallbacks(source.callbacks) }
        callChecker = CallChecker(functions: functions, callbacks: callbacks)
        var scope = scope
        scope.structs = try prependingStep(.member("structs")) { () throws(BindingError) in try Self.checkStructs(source.structs) }
        (initialScope, self.scope) = (scope, scope)
        for (name, signature) in functions.map({ ($0.name, $0.value) }) {
            try prependingStep(.member("functions")) { () throws(BindingError) in
                try prependingStep(.member(name)) { () throws(BindingError) in try Self.checkNames(in: signature, functions, callbacks) }
            }
        }
    }

    // MARK: Declarations

    private static func checkFunctions(_ sources: [NamedValue<String>]) throws(BindingError) -> [NamedValue<Signature>] {
        guard (1...BindingProgram.functionLimit).contains(sources.count) else {
            throw BindingError("has \(sources.count) functions, where 1 to \(BindingProgram.functionLimit) are allowed")
        }
        return try sources.mapMembers(named: \.name) { function throws(BindingError) in
            guard SignatureScanner.isIdentifier(function.name) else {
                throw BindingError("is not the name of a C function", at: JSONPath().name)
            }
            return NamedValue(function.name, try Signature(parsing: function.value, as: .function))
        }
    }

    private static func checkStructs(
        _ sources: [NamedValue<[NamedValue<StructFieldSource>]>]
    ) throws(BindingError) -> [String: [String: StructField]] {
        let structs = try sources.mapMembers(named: \.name) { source throws(BindingError) in
            guard SignatureScanner.isIdentifier(source.name), source.name.first?.isUppercase == true else {
                throw BindingError(
                    "is not the name of a handle, which begins with a capital letter, and has at most 128 letters", at: JSONPath().name)
            }
            guard (1...BindingProgram.fieldLimit).contains(source.value.count) else {
                throw BindingError("has \(source.value.count) fields, where 1 to \(BindingProgram.fieldLimit) are allowed")
            }
            let fields = try source.value.mapMembers(named: \.name) { field throws(BindingError) in
                guard SignatureScanner.isIdentifier(field.name) else { throw BindingError("is not a valid name", at: JSONPath().name) }
                return (field.name, try StructField(checking: field.value))
            }
            return (source.name, Dictionary(fields) { $1 })
        }
        return Dictionary(structs) { $1 }
    }

    /// Checks that the named callbacks exist, and that the named functions can free a result.
    private static func checkNames(
        in signature: Signature, _ functions: [NamedValue<Signature>], _ callbacks: [Callback]
    ) throws(BindingError) {
        for parameter in signature.parameters {
            switch parameter.kind {
            case .callback(let name):
                guard callbacks.contains(where: { $0.name == name }) else {
                    throw BindingError("'\(name)' is not among the 'callbacks'; write it there")
                }
            case .outParameter(_, let name?): try checkFreeingFunction(name, "an output", functions)
            default: break
            }
        }
        switch signature.result {
        case .value(_, let name?), .bytes(_, let name?): try checkFreeingFunction(name, "the result", functions)
        default: break
        }
    }

    private static func checkFreeingFunction(_ name: String, _ what: String, _ functions: [NamedValue<Signature>]) throws(BindingError) {
        guard let function = functions.first(where: { $0.name == name })?.value else {
            throw BindingError(
                "'\(name)', which must free \(what) of this function, is not among the 'functions'; write its signature there")
        }
        guard function.parameters.count == 1, !function.isVariadic, case .value(.pointer(nil, _)) = function.parameters[0].kind else {
            throw BindingError("'\(name)', which must free \(what) of this function, must take exactly one 'pointer'")
        }
    }

    private static func checkCallbacks(_ sources: [NamedValue<CallbackSource>]) throws(BindingError) -> [Callback] {
        guard sources.count <= BindingProgram.callbackLimit else {
            throw BindingError("has \(sources.count) callbacks, where at most \(BindingProgram.callbackLimit) are allowed")
        }
        return try sources.mapMembers(named: \.name) { source throws(BindingError) in try checkCallback(source.name, source.value) }
    }

    private static func checkCallback(_ name: String, _ source: CallbackSource) throws(BindingError) -> Callback {
        guard SignatureScanner.isIdentifier(name) else { throw BindingError("is not a valid name", at: JSONPath().name) }
        let signature = try prependingStep(.member("signature")) { () throws(BindingError) in
            try Signature(parsing: source.signature, as: .callback)
        }
        let deliveredParameter = try source.deliver.map { name throws(BindingError) in
            guard let index = signature.parameters.firstIndex(where: { $0.name == name && $0.isBytes }) else {
                throw BindingError("'\(name)' is not a 'bytes' parameter of the signature", at: JSONPath()["deliver"])
            }
            return index
        }
        let filledParameter = try source.fill.map { name throws(BindingError) in
            guard let index = signature.parameters.firstIndex(where: { $0.name == name && $0.isBuffer }) else {
                throw BindingError("'\(name)' is not a 'buffer' parameter of the signature", at: JSONPath()["fill"])
            }
            return index
        }
        guard deliveredParameter == nil || filledParameter == nil else {
            throw BindingError("both delivers and fills; a callback does one of the two")
        }
        let bytesName = (deliveredParameter ?? filledParameter).flatMap { signature.parameters[$0].name }
        let checkReturnValue = { (value: ArgumentSource?, allowsLength: Bool) throws(BindingError) -> Callback.ReturnValue in
            guard case .value(.scalar(let scalar), _) = signature.result else {
                guard value == nil else { throw BindingError("has a value, but the signature returns void") }
                return .nothing
            }
            switch value {
            case .number(let text)?:
                guard scalar.isInteger, let number = Int128(text), scalar.range.contains(number) else {
                    throw BindingError("is \(text), which does not fit \(scalar.rawValue)")
                }
                return .integer(number)
            case .boolean(let boolean)? where scalar == .bool: return .integer(boolean ? 1 : 0)
            case .text(let text)? where allowsLength && bytesName != nil && text == "{\(bytesName ?? "").length}" && scalar.isInteger:
                guard scalar.range.contains(Int128(BindingProgram.chunkLimit)) else {
                    throw BindingError(
                        "is a number of bytes that can be too large for \(scalar.rawValue); return an int at least")
                }
                return .length
            default:
                throw BindingError(
                    "has to be a constant of \(scalar.rawValue)\(allowsLength ? ", or '{NAME.length}' of the bytes that are delivered or filled" : "")"
                )
            }
        }
        return Callback(
            name: name, signature: signature, deliver: deliveredParameter, fill: filledParameter,
            returns: try prependingStep(.member("returns")) { () throws(BindingError) in try checkReturnValue(source.returns, true) },
            stopped: try prependingStep(.member("stopped")) { () throws(BindingError) in try checkReturnValue(source.stopped, false) })
    }

    // MARK: Steps

    mutating func makeCheckedProgram() throws(BindingError) -> BindingProgram {
        scope.hasRequest = false
        let setup = try checkSteps("setup", source.setup, 0...BindingProgram.stepLimit)
        scope.removeVariables(since: initialScope)
        scope.hasRequest = true
        let steps = try checkSteps("steps", source.steps, 1...BindingProgram.stepLimit)
        if let error = source.error, error.text != nil, !steps.flatMap(\.withInnerSteps).contains(where: { $0.failure.text != nil }) {
            // No step uses the text of the shared error. Either each step has its own error, or the check of the text
            // failed for each step, and `checkFailure` ignored that. This check does not ignore it.
            let result = ValueType(.integer)
            _ = try prependingStep(.member("error")) { () throws(BindingError) in try checkFailure(error, result, isShared: false) }
        }
        return BindingProgram(
            source: source, functions: callChecker.functions, callbacks: callChecker.callbacks, setup: setup, steps: steps,
            stop: try prependingStep(.member("stop")) { () throws(BindingError) in try checkStop(steps) },
            variableCount: scope.variableCount, readsBody: scope.readsBody)
    }

    private mutating func checkSteps(_ name: String, _ sources: [StepSource], _ counts: ClosedRange<Int>) throws(BindingError) -> [Step] {
        try prependingStep(.member(name)) { () throws(BindingError) in
            guard counts.contains(sources.count) else {
                throw BindingError("has \(sources.count) steps, where \(counts.lowerBound) to \(counts.upperBound) are allowed")
            }
            var steps: [Step] = []
            for (index, source) in sources.enumerated() {
                steps.append(try prependingStep(.element(index)) { () throws(BindingError) in try checkStep(source) })
            }
            return steps
        }
    }

    private mutating func checkStep(_ source: StepSource) throws(BindingError) -> Step {
        let (scopeBefore, loopsBefore) = (scope, loops)
        let condition = try source.when.map { guardSource throws(BindingError) in
            try prependingStep(.member("when")) { () throws(BindingError) in try scope.checkGuard(guardSource) }
        }
        var result: ValueType?
        let action: Step.Action
        switch source.action {
        case .call(let call): (action, result) = try checkCallStep(call, source)
        case .respond(let response):
            guard scope.hasRequest else { throw BindingError("responds during setup, where there is no request") }
            guard loops.isEmpty else { throw BindingError("responds in a loop; there is one response, so put it before the loop") }
            guard !scope.hasDelivered else {
                throw BindingError(
                    "responds after a step that delivers bytes; the response is sent with the first bytes, so put it before that step",
                    at: JSONPath()["respond"])
            }
            action = .respond(try prependingStep(.member("respond")) { () throws(BindingError) in try checkResponse(response) })
        case .deliver(let template):
            guard scope.hasRequest else { throw BindingError("delivers during setup, where there is no request") }
            action = .deliver(try prependingStep(.member("deliver")) { () throws(BindingError) in try scope.checkBytes(.text(template)) })
            scope.recordDelivery()
        case .steps(let steps):
            depth += 1
            defer { depth -= 1 }
            try checkDepth()
            action = .steps(try checkSteps("steps", steps, 1...BindingProgram.stepLimit))
        case .loop(let steps, let index): action = try checkLoop(steps, index: index)
        case .break(let requirement):
            guard !loops.isEmpty else { throw BindingError("ends a loop, but is in none; write it among the steps of a 'loop'") }
            let condition = try prependingStep(.member("break")) { () throws(BindingError) in try scope.checkGuard(requirement) }
            if loops[loops.count - 1].scopeAtBreak == nil { loops[loops.count - 1].scopeAtBreak = scope }
            action = .break(condition)
        case .require(let requirement):
            action = .require(try prependingStep(.member("require")) { () throws(BindingError) in try scope.checkGuard(requirement) })
        }
        let failure = try checkFailure(source.error, result)
        // A load can leave a loop without having performed this step.
        if condition != nil, let loop = loops.indices.last, loopsBefore.last?.scopeAtBreak == nil, loops[loop].scopeAtBreak != nil {
            loops[loop].scopeAtBreak = scopeBefore
        }
        if condition != nil { scope.removeVariables(since: scopeBefore) }
        return Step(action: action, when: condition, failure: failure)
    }

    /// A loop whose steps are checked.
    private struct Loop {
        /// The values before the first `break` of the loop.
        var scopeAtBreak: Scope?
    }

    /// The number of loops and groups around the step that is checked.
    private var depth = 0

    private func checkDepth() throws(BindingError) {
        guard depth <= 8 else { throw BindingError("is inside \(depth - 1) other steps, which is too deep") }
    }

    private mutating func checkLoop(_ sources: [StepSource], index: String?) throws(BindingError) -> Step.Action {
        guard scope.hasRequest else { throw BindingError("repeats steps of the setup, which runs once") }
        depth += 1
        defer { depth -= 1 }
        try checkDepth()
        let scopeBefore = scope
        loops.append(Loop())
        let indexVariable = try index.map { name throws(BindingError) in
            try prependingStep(.member("index")) { () throws(BindingError) in try scope.define(name, ValueType(.integer)) }
        }
        let steps = try checkSteps("loop", sources, 1...BindingProgram.stepLimit)
        let loop = loops.removeLast()
        guard let scopeAtBreak = loop.scopeAtBreak else {
            throw BindingError("never ends; one of its own steps has to be a 'break'", at: JSONPath()["loop"])
        }
        guard steps.flatMap(\.withInnerSteps).contains(where: { if case .call = $0.action { true } else { false } }) else {
            throw BindingError("calls no function, so nothing changes from one repetition to the next", at: JSONPath()["loop"])
        }
        // Every load that leaves the loop has performed the steps before the first 'break', so their values stay. If
        // there are cleanups at the end of the repetition, no handle or bytes of it may be used later.
        let cleansUp = steps.flatMap(\.withInnerSteps).contains {
            if case .call(let step) = $0.action { step.cleanup != nil } else { false }
        }
        let hasDelivered = scope.hasDelivered
        scope.removeVariables(since: scopeBefore, except: scopeAtBreak, keepsHandles: !cleansUp)
        if hasDelivered { scope.recordDelivery() }
        return .loop(steps, index: indexVariable)
    }

    private mutating func checkCallStep(_ source: CallSource, _ step: StepSource) throws(BindingError) -> (Step.Action, ValueType?) {
        let scopeBefore = scope
        let call = try callChecker.checkCall(source, &scope)
        var type: ValueType? =
            switch call.result {
            case .void: nil
            case .value(let type, _): ValueType(type)
            case .bytes: ValueType(.bytes)
            }
        let check = try step.check.map { check throws(BindingError) in
            try prependingStep(.member("check")) { () throws(BindingError) in try scope.checkCondition(check, on: type) }
        }
        if case .isNull(false)? = check?.test { type?.isOptional = false }
        let until = try step.until.map { until throws(BindingError) in
            try prependingStep(.member("until")) { () throws(BindingError) in try scope.checkCondition(until, on: type) }
        }
        let result = try step.result.map { name throws(BindingError) in
            try prependingStep(.member("result")) { () throws(BindingError) in
                guard let type else { throw BindingError("names the result of a function that returns none") }
                return try scope.define(name, type)
            }
        }
        let deliver = try step.deliver.map { template throws(BindingError) in
            try prependingStep(.member("deliver")) { () throws(BindingError) in
                guard scope.hasRequest else { throw BindingError("delivers during setup, where there is no request") }
                return try scope.checkBytes(.text(template))
            }
        }
        if deliver != nil { scope.recordDelivery() }
        let cleanup = try step.cleanup.map { cleanup throws(BindingError) in
            try prependingStep(.member("cleanup")) { () throws(BindingError) in
                guard until == nil, scope.hasRequest else {
                    throw BindingError(
                        until == nil
                            ? "cleans up a step of the setup, which runs once; remove the cleanup"
                            : "cleans up a step that is repeated; move the cleanup to the step before it")
                }
                return try auxiliaryCallChecker.checkCall(cleanup, &scope)
            }
        }
        return (
            .call(
                Step.CallStep(
                    call: call, result: result, check: check, until: until, deliver: deliver, cleanup: cleanup,
                    cleansUpAfterFailure: step.cleansUpAfterFailure, isStoppable: canCallStop(with: scopeBefore))), type
        )
    }

    // MARK: Failures

    /// - Parameter ownError: The error of the step; `nil` if the step uses the error of all steps.
    private mutating func checkFailure(_ ownError: ErrorSource?, _ result: ValueType?) throws(BindingError) -> Failure {
        if let ownError {
            return try prependingStep(.member("error")) { () throws(BindingError) in try checkFailure(ownError, result, isShared: false) }
        }
        guard let sharedError = source.error else { return try checkFailure(ErrorSource(), result, isShared: false) }
        return try checkFailure(sharedError, result, isShared: true)
    }

    /// - Parameter isShared: Whether this is the error of all steps. If so, and the current step can't use the message
    ///   or the text, the result lacks it. For example, the message can name a value that the step does not have.
    private mutating func checkFailure(_ source: ErrorSource, _ result: ValueType?, isShared: Bool) throws(BindingError) -> Failure {
        var codes: [Int128: Int32] = [:]
        for member in source.codes {
            try prependingStep(.member("codes")) { () throws(BindingError) in
                guard let number = Int128(member.name) else {
                    throw BindingError("'\(member.name)' is not an integer that a call can return", at: JSONPath()[member.name].name)
                }
                guard member.name == "\(number)" else {
                    throw BindingError("the number '\(member.name)' must be written '\(number)'", at: JSONPath()[member.name].name)
                }
                codes[number] = try prependingStep(.member(member.name)) { () throws(BindingError) in try Self.checkCode(member.value) }
            }
        }
        var errorScope = scope
        errorScope.result = result
        let code = try prependingStep(.member("code")) { () throws(BindingError) in try Self.checkCode(source.code ?? "unknown") }
        guard source.message != "" else {
            throw BindingError("is empty; say what happened, or leave it out", at: JSONPath()["message"])
        }
        let message = try ignoringErrors(if: isShared) { () throws(BindingError) in
            try source.message.map { message throws(BindingError) in
                try prependingStep(.member("message")) { () throws(BindingError) in
                    try errorScope.checkValue(.text(message), for: .text(isOptional: false))
                }
            }
        }
        let text = try ignoringErrors(if: isShared) { () throws(BindingError) in
            try source.text.map { text throws(BindingError) in
                try prependingStep(.member("text")) { () throws(BindingError) in
                    let call = try auxiliaryCallChecker.checkCall(text, &errorScope)
                    guard case .value(.text, _) = call.result else {
                        throw BindingError("calls a function that does not return a cstring")
                    }
                    return call
                }
            }
        }
        return Failure(code: code, codes: codes, message: message, text: text)
    }

    /// Returns the result of `check`. If `check` throws and `ignoresErrors` is true, returns `nil`.
    private func ignoringErrors<Value>(
        if ignoresErrors: Bool, _ check: () throws(BindingError) -> Value?
    ) throws(BindingError) -> Value? {
        do throws(BindingError) {
            return try check()
        } catch {
            guard ignoresErrors else { throw error }
            return nil
        }
    }

    private static func checkCode(_ name: String) throws(BindingError) -> Int32 {
        guard let code = LoadError.Code.published.first(where: { $0.name == name })?.code else {
            throw BindingError("'\(name)' is not a published code; 'unknown', 'notFound' and 'cannotConnect' are some of them")
        }
        switch code {
        case .protocolViolation, .pluginNotLoadable, .pluginRefused:
            throw BindingError(
                "the code '\(name)' is reserved for the host (ERR-03); use another one, such as 'badResponse' or 'unknown'")
        default: return code.rawValue
        }
    }

    // MARK: Stopping

    /// Whether the stop function can be called while a step runs.
    ///
    /// - Parameter scope: the values that exist before the step.
    private func canCallStop(with scope: Scope) -> Bool {
        guard case .function(let call)? = source.stop else { return false }
        var scope = scope
        // `try?` because an error here means that this step or a later one defines a value that the stop needs.
        return (try? auxiliaryCallChecker.checkCall(call, &scope)) != nil
    }

    private mutating func checkStop(_ steps: [Step]) throws(BindingError) -> Stop {
        switch source.stop {
        case nil, .step?: return .step
        case .callback?:
            guard callChecker.callbacks.contains(where: { $0.stopped != .nothing }) else {
                throw BindingError("is 'callback', but no callback has a 'stopped'")
            }
            let operands = steps.flatMap(\.withInnerSteps).flatMap { step -> [Operand] in
                if case .call(let step) = step.action { step.call.operands } else { [] }
            }
            guard
                callChecker.callbacks.indices.contains(where: {
                    callChecker.callbacks[$0].stopped != .nothing && operands.contains(.callback($0))
                })
            else {
                throw BindingError("is 'callback', but no step passes a callback that has a 'stopped'")
            }
            return .callback
        case .function(let call)?:
            // This checks the call with the variables that exist after the last step. `canCallStop(with:)` checks it
            // with the variables that exist before a step.
            let checkedCall = try auxiliaryCallChecker.checkCall(call, &scope)
            guard
                steps.flatMap(\.withInnerSteps).contains(where: {
                    if case .call(let step) = $0.action { step.isStoppable } else { false }
                })
            else {
                throw BindingError("calls '\(call.function)' with values that no step has yet while it runs")
            }
            return .function(checkedCall)
        }
    }
}

extension Parameter {
    var isBytes: Bool { if case .bytes = kind { true } else { false } }
    var isBuffer: Bool { if case .buffer = kind { true } else { false } }
}
