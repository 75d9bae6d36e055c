// SPDX-License-Identifier: Apache-2.0

import HTTPTypes
import PortolanCore

#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#endif

/// The reason why the steps of a load end early.
enum ExecutionEnd: Error {
    case stopped
    case failed(LoadError)

    init(_ code: LoadError.Code, _ message: String) {
        self = .failed(LoadError(code, message: message))
    }
}

/// The context in which the steps of one load run: the request, the settings, the client, and whether the load is
/// stopped.
protocol ExecutionContext: AnyObject, Sendable {
    var request: Request { get }
    var settings: [String: PropertyValue] { get }
    var libraryName: String { get }
    /// Whether the load is not stopped.
    var mayContinue: Bool { get }
    /// Called before a library call that the stop function can end.
    ///
    /// - Returns: Whether to make the call. If so, ``endCall()`` must follow.
    func beginCall() -> Bool
    func endCall()
    /// Delivers the response, and waits while the reader is slow.
    ///
    /// - Returns: Whether the load continues.
    func respond(_ response: Response) -> Bool
    func deliver(_ bytes: UnsafeRawBufferPointer) -> Bool
    /// Reads the next bytes of the request's body. Returns 0 at the end.
    func readBody(into buffer: UnsafeMutableRawBufferPointer) throws(ExecutionEnd) -> Int
}

/// Executes the steps of a binding for one load, on one thread.
// @unchecked Sendable … because only the load's thread uses it, except for callStop(), which another thread calls only
// while the load's thread is in a library call.
@safe
final class BindingExecution: @unchecked Sendable {
    let linkedProgram: LinkedProgram
    let context: any ExecutionContext
    private let callbackPool: CallbackPool
    private var thread = pthread_self()
    let frame = CallFrame()
    /// The texts for the library. In a loop, those of the current repetition.
    private(set) var arena = LoadArena()
    /// The buffers, which live until the load ends.
    let buffers: LoadArena
    var variables: [Value?]
    /// The texts that were in outputs of the last call with `freed by`, by operand.
    var ownedOutputs: [Int: Result<Value, ExecutionEnd>] = [:]
    /// The slot of each callback, by the callback's index.
    private var slots: [Int: CallbackSlot] = [:]
    /// The user data that the library passes to callbacks. Unique for each execution, so that a late callback does not
    /// reach another load.
    let token: UInt
    private static let lastToken = ConditionLock(UInt(0x1000))

    /// The cleanup calls of the performed steps, in the order of the steps.
    private var cleanups: [LinkedCall] = []
    /// The response of a `respond` step, until it is delivered.
    private var response: Response?
    private var hasResponded = false
    /// The request's complete body, after a step has used it.
    private var body: [UInt8]?
    /// The reason why a callback ended the load.
    private var callbackEnd: ExecutionEnd?
    private var isInCall = false

    init(_ linkedProgram: LinkedProgram, context: any ExecutionContext, callbackPool: CallbackPool) {
        self.linkedProgram = linkedProgram
        self.context = context
        self.callbackPool = callbackPool
        buffers = arena
        variables = Array(repeating: nil, count: linkedProgram.program.variableCount)
        token = Self.lastToken.withLock { lastToken in
            lastToken &+= 16
            return lastToken
        }
    }

    /// Runs the steps, and then their cleanup calls, even after an error.
    func run(_ steps: [LinkedStep]) throws(ExecutionEnd) {
        let end = perform(steps)
        cleanUp(since: 0)
        for slot in slots.values { callbackPool.release(slot) }
        slots = [:]
        if let end { throw end }
    }

    /// Calls the cleanups after the first `count` ones, the last one first.
    private func cleanUp(since count: Int) {
        while cleanups.count > count, let cleanup = cleanups.popLast() {
            // The steps have already ended, so an error is not reported.
            do throws(ExecutionEnd) { _ = try invoke(cleanup, .always) } catch {}
        }
    }

    /// Runs the steps of `setup`.
    ///
    /// The library can keep the pointers that it receives in `setup`, as `openlog(3)` and `putenv(3)` do, and is never
    /// closed. Therefore the memory is never freed, even after a failed step, and the callbacks are not reused.
    func runSetup(_ steps: [LinkedStep]) throws(ExecutionEnd) {
        Self.setupMemory.withLock { $0.append(SetupMemory(arena: arena, frame: frame)) }
        let end = perform(steps)
        slots = [:]
        if let end { throw end }
    }

    private struct SetupMemory: @unchecked Sendable {  // … because nothing reads it; it only retains the memory
        let arena: LoadArena
        let frame: CallFrame
    }
    private static let setupMemory = ConditionLock<[SetupMemory]>([])

    /// Performs the steps and sends the response. After that, callbacks do not reach this object.
    ///
    /// - Returns: `nil` if all steps succeeded.
    private func perform(_ steps: [LinkedStep]) -> ExecutionEnd? {
        thread = pthread_self()
        defer { for slot in slots.values { slot.setExecution(nil) } }
        do throws(ExecutionEnd) {
            for step in steps { _ = try perform(step) }
            try sendResponseIfNeeded()
        } catch {
            return error
        }
        return nil
    }

    /// Performs the steps again and again, until a `break` ends the loop.
    private func performLoop(_ steps: [LinkedStep], index: Int?) throws(ExecutionEnd) {
        let (outerArena, cleanupCount) = (arena, cleanups.count)
        defer { arena = outerArena }
        var (isOver, count) = (false, Int128(0))
        while !isOver {
            if let index { variables[index] = .integer(count) }
            count += 1
            guard context.mayContinue else { throw .stopped }
            arena = LoadArena()
            // The library may use the texts until the cleanups have run, also after an error.
            defer { cleanUp(since: cleanupCount) }
            for step in steps where !isOver { isOver = try perform(step) }
        }
    }

    /// - Returns: Whether the step ends its loop.
    private func perform(_ linkedStep: LinkedStep) throws(ExecutionEnd) -> Bool {
        if let when = linkedStep.step.when, !isTrue(when.condition, for: try evaluate(when.value, nil)) { return false }
        switch linkedStep.step.action {
        case .call(let step):
            if let call = linkedStep.call { try perform(step, call, linkedStep) }
        case .respond(let response): self.response = try makeResponse(response)
        case .deliver(let value): try deliver(try evaluate(value, nil))
        case .loop(_, let index): try performLoop(linkedStep.steps, index: index)
        case .steps:
            for step in linkedStep.steps where try perform(step) { return true }
        case .break(let end): return isTrue(end.condition, for: try evaluate(end.value, nil))
        case .require(let requirement):
            let value = try evaluate(requirement.value, nil)
            guard isTrue(requirement.condition, for: value) else {
                throw failure(of: linkedStep, nil, "'\(requirement.phrase)' is \(value.phrase ?? "not as required") in this request")
            }
        }
        return false
    }

    private func perform(_ step: Step.CallStep, _ call: LinkedCall, _ linkedStep: LinkedStep) throws(ExecutionEnd) {
        let permission = step.isStoppable ? CallPermission.stoppable : .whileRunning
        while true {
            let result = try invoke(call, permission, borrowsText: linkedStep.deliversTextOfLibrary)
            defer { if linkedStep.deliversTextOfLibrary { freeText(result, of: call) } }
            if let end = callbackEnd { throw end }
            let isLast = linkedStep.until.map { isTrue($0, for: result) } ?? false
            if !isLast, let problem = problem(with: result, call, linkedStep) {
                if linkedStep.step.failure.hasDetails || step.cleansUpAfterFailure { storeOutputs(ofFailedCall: call, result, step) }
                if step.cleansUpAfterFailure, let cleanup = linkedStep.cleanup, hasValues(cleanup.call) { cleanups.append(cleanup) }
                throw failure(of: linkedStep, result, "\(call.name) of \(context.libraryName) \(problem)")
            }
            let isBorrowed = linkedStep.deliversTextOfLibrary && result != .null
            if let variable = step.result { variables[variable] = isBorrowed ? nil : result }
            // The cleanup is registered first, because invalid outputs end the load.
            if let cleanup = linkedStep.cleanup { cleanups.append(cleanup) }
            if call.plan.hasOutputs { try storeOutputs(of: call, result, isLast: isLast) }
            if isBorrowed {
                if !isLast { try deliverText(result) }
            } else if let value = step.deliver, !isLast || hasContent(linkedStep.deliveredOutputs) {
                try deliver(try evaluate(value, result))
            }
            if isLast || linkedStep.until == nil { return }
        }
    }

    /// Whether every value that the call uses exists.
    private func hasValues(_ call: Call) -> Bool {
        call.usedVariables.allSatisfy { variables[$0] != nil && variables[$0] != .null }
    }

    /// Whether one of the variables has a value other than an empty text or empty bytes.
    private func hasContent(_ variables: [Int]) -> Bool {
        variables.contains { index in
            switch self.variables[index] {
            case .text(let text)?: !text.isEmpty
            case .region(_, let count)?: count > 0
            case .integer?, .real?, .boolean?, .pointer?: true
            case .null?, nil: false
            }
        }
    }

    /// Describes why a step cannot continue with the result of its call. `nil` if the step can continue.
    private func problem(with result: Value, _ call: LinkedCall, _ linkedStep: LinkedStep) -> String? {
        if let check = linkedStep.check, !isTrue(check, for: result) { return "failed\(result.phrase.map { " with \($0)" } ?? "")" }
        if case .null = result, !Self.canBeNull(call.call.result) { return "returned NULL, which it should not" }
        if call.plan.returnsFilledLength, case .integer(let filledCount) = result, filledCount < 0 {
            return "failed with \(filledCount)"
        }
        return nil
    }

    private static func canBeNull(_ result: Signature.ReturnType) -> Bool {
        switch result {
        case .void: true
        case .value(.text(let isOptional), _), .value(.pointer(_, let isOptional), _): isOptional
        case .value(.scalar, _), .bytes: false
        }
    }

    // MARK: Events

    private func makeResponse(_ source: Step.Response) throws(ExecutionEnd) -> Response {
        var response = Response(url: context.request.url)
        if case .integer(let status) = try source.status.map(evaluate) ?? .null {
            guard ProgramChecker.allowedStatusCodes.contains(status) else {
                throw ExecutionEnd(.badResponse, "the binding gives the status \(status), which is not from 200 to 599")
            }
            response.status = .init(code: Int(status))
        }
        if case .integer(let length) = try source.length.map(evaluate) ?? .null {
            guard let length = Int64(exactly: length), length >= 0 else {
                throw ExecutionEnd(.badResponse, "the binding gives the length \(length), which is negative or too large")
            }
            response.expectedLength = length
        }
        let text = { (source: Expression?) throws(ExecutionEnd) -> String? in
            guard case .text(let text) = try source.map(self.evaluate) ?? .null else { return nil }
            return ForeignText.singleLine(text)
        }
        let mimeType = try text(source.mimeType).flatMap { MIMEType(parsing: $0) }
        return Response(
            url: response.url, mimeType: mimeType, textEncodingName: try text(source.textEncoding), expectedLength: response.expectedLength,
            suggestedFilename: try text(source.filename), status: response.status)
    }

    private func evaluate(_ expression: Expression) throws(ExecutionEnd) -> Value { try evaluate(expression, nil) }

    /// Delivers the response, unless it was already delivered.
    private func sendResponseIfNeeded() throws(ExecutionEnd) {
        guard !hasResponded else { return }
        hasResponded = true
        guard context.respond(response ?? Response(url: context.request.url)) else { throw .stopped }
    }

    private func deliver(_ value: Value) throws(ExecutionEnd) {
        switch value {
        // The text is not copied to the arena, because the arena's memory lives until the load ends.
        case .text(let text):
            guard !text.isEmpty else { return }
            try sendResponseIfNeeded()
            guard unsafe text.withUnsafeBytes({ unsafe context.deliver($0) }) else { throw .stopped }
        case .region(let address, let count): try deliver(address, count)
        case .null, .integer, .real, .boolean, .pointer: return
        }
    }

    /// Delivers a text of any length from the library's memory.
    private func deliverText(_ result: Value) throws(ExecutionEnd) {
        guard case .pointer(var address) = result else { return }
        while let start = unsafe UnsafePointer<CChar>(bitPattern: address) {
            let count = unsafe strnlen(start, ForeignText.limit)
            try deliver(address, count)
            guard count == ForeignText.limit else { return }
            address += UInt(count)
        }
    }

    private func deliver(_ address: UInt, _ count: Int) throws(ExecutionEnd) {
        guard count > 0 else { return }
        try sendResponseIfNeeded()
        guard unsafe context.deliver(UnsafeRawBufferPointer(start: UnsafeRawPointer(bitPattern: address), count: count)) else {
            throw .stopped
        }
    }

    /// Returns the error of a failed step. Leaves out parts of the message whose values the step has not set.
    private func failure(of linkedStep: LinkedStep, _ result: Value?, _ phrase: String) -> ExecutionEnd {
        let failure = linkedStep.step.failure
        var code = failure.code
        if case .integer(let number)? = result, let codeForNumber = failure.codes[number] { code = codeForNumber }
        var message = phrase
        if let template = failure.message, let text = text({ () throws(ExecutionEnd) in try evaluate(template, result, inMessage: true) }) {
            message = text
        }
        if let call = linkedStep.text {
            if let result { testedResult = result }
            if let text = text({ () throws(ExecutionEnd) in try invoke(call, .always) }) { message += ": \(text)" }
        }
        return ExecutionEnd(LoadError.Code(rawValue: code), message)
    }

    /// Returns the text of `value` on one line. `nil` if `value` fails, or returns no text.
    private func text(_ value: () throws(ExecutionEnd) -> Value) -> String? {
        do throws(ExecutionEnd) {
            guard case .text(let text) = try value(), !text.isEmpty else { return nil }
            return ForeignText.singleLine(text)
        } catch {
            return nil
        }
    }

    /// The value of `{result}` in the call that returns the text of an error.
    var testedResult: Value = .null

    // MARK: Calls

    /// When a library call is allowed.
    private enum CallPermission {
        /// Only while the load is not stopped.
        case whileRunning
        /// Only while the load is not stopped. The stop function can end the call.
        case stoppable
        /// Always, also after a stop. For calls that clean up or describe an error.
        case always
    }

    /// Calls a function of the library.
    ///
    /// - Parameter borrowsText: Whether a text in the result is not copied. The result is then its address, and the
    ///   caller frees it with ``freeText(_:of:)``.
    /// - Returns: The result. `.null` if the function returns nothing.
    private func invoke(
        _ linkedCall: LinkedCall, _ permission: CallPermission, borrowsText: Bool = false
    ) throws(ExecutionEnd) -> Value {
        let isStored = if let words = linkedCall.plan.words { storePrecomputedArguments(words) } else { false }
        if !isStored { try storeArguments(of: linkedCall.call, in: frame) }
        let isAllowed =
            switch permission {
            case .whileRunning: context.mayContinue
            case .stoppable: context.beginCall()
            case .always: true
            }
        guard isAllowed else { throw .stopped }
        isInCall = true
        linkedCall.interface.call(linkedCall.function, frame)
        isInCall = false
        if permission == .stoppable { context.endCall() }
        if !linkedCall.outputFrees.isEmpty { takeOwnedOutputs(of: linkedCall) }
        switch linkedCall.plan.resultKind {
        case .nothing: return .null
        case .scalar(let scalar): return unsafe scalar.loadResult(at: frame.result)
        case .other: return borrowsText ? pointerResult(in: frame) : try result(of: linkedCall, in: frame)
        }
    }

    /// Calls the stop function from another thread, to end the call on the load's thread.
    func callStop() {
        guard let stop = linkedProgram.stop else { return }
        let frame = CallFrame()
        // If the arguments of the stop function do not exist yet, the load ends at the next step.
        do throws(ExecutionEnd) { try storeArguments(of: stop.call, in: frame) } catch { return }
        stop.interface.call(stop.function, frame)
    }

    func callbackSlot(_ index: Int) throws(ExecutionEnd) -> CallbackSlot {
        if let slot = slots[index] { return slot }
        do throws(LoadError) {
            let slot = try callbackPool.acquire(index)
            slot.setExecution(self)
            slots[index] = slot
            return slot
        } catch {
            throw .failed(error)
        }
    }

    /// Returns the complete body of the request. The first call reads it.
    func wholeBody() throws(ExecutionEnd) -> [UInt8] {
        if let body { return body }
        var bytes: [UInt8] = []
        let chunk = UnsafeMutableRawBufferPointer.allocate(byteCount: 64 << 10, alignment: 16)
        defer { unsafe chunk.deallocate() }
        while true {
            let count = try unsafe context.readBody(into: chunk)
            guard count > 0 else { break }
            guard bytes.count + count <= BindingInstance.bodyLimit else {
                throw ExecutionEnd(
                    .limitExceeded, "the request's body has over \(BindingInstance.bodyLimit) bytes, which is the limit of a binding")
            }
            unsafe bytes.append(contentsOf: chunk[..<count])
        }
        body = bytes
        return bytes
    }

    // MARK: Callbacks

    /// Handles a callback from the library.
    ///
    /// - Returns: The return value. `nil` for the value that makes the library stop.
    func handleCallback(_ callback: Callback, _ arguments: UnsafeMutablePointer<UnsafeMutableRawPointer?>) -> Int128? {
        // `isInCall` is read only on the load's thread.
        guard pthread_equal(thread, pthread_self()) != 0, isInCall else { return nil }
        guard callbackEnd == nil else { return nil }
        do throws(ExecutionEnd) {
            return try returnValue(of: callback, unsafe CallbackArguments(callback.signature, arguments, token: token))
        } catch {
            callbackEnd = error
            return nil
        }
    }

    private func returnValue(of callback: Callback, _ arguments: CallbackArguments) throws(ExecutionEnd) -> Int128 {
        try arguments.checkUserData(of: callback.name)
        guard context.mayContinue else { throw .stopped }
        var count = 0
        if let index = callback.deliver {
            let (address, length) = try arguments.bytes(index, of: callback.name)
            count = try checkChunkLength(length)
            try deliver(address, count)
        } else if let index = callback.fill {
            let (address, length) = try arguments.bytes(index, of: callback.name)
            if try checkChunkLength(length) > 0 {
                let buffer = unsafe UnsafeMutableRawBufferPointer(start: UnsafeMutableRawPointer(bitPattern: address), count: length)
                count = try unsafe context.readBody(into: buffer)
            }
        }
        switch callback.returns {
        case .nothing: return 0
        case .integer(let integer): return integer
        case .length: return Int128(count)
        }
    }
}
