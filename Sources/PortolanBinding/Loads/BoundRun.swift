// SPDX-License-Identifier: Apache-2.0

import HTTPTypes
import PortolanCore

#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#endif

/// Why a load's steps end early.
enum RunEnd: Error {
    case stopped
    case failed(LoadError)

    init(_ code: LoadError.Code, _ message: String) {
        self = .failed(LoadError(code, message: message))
    }
}

/// The environment of one load's steps: the request, the settings, the client, and the stop.
protocol RunHost: AnyObject, Sendable {
    var request: Request { get }
    var settings: [String: PropertyValue] { get }
    var libraryName: String { get }
    /// Whether the load is not stopped. Calls that cannot be stopped, and responses to callbacks, depend on it.
    var mayCall: Bool { get }
    /// Called before a call that the stop function may end.
    ///
    /// - Returns: Whether the call may be made; if so, ``leaveCall()`` follows it.
    func enterCall() -> Bool
    func leaveCall()
    /// Delivers the response, and waits while the reader is slow.
    ///
    /// - Returns: Whether the load continues.
    func respond(_ response: Response) -> Bool
    func deliver(_ bytes: UnsafeRawBufferPointer) -> Bool
    /// Reads the next bytes of the request's body; returns 0 at its end.
    func readBody(_ room: UnsafeMutableRawBufferPointer) throws(RunEnd) -> Int
}

/// One run of a binding's steps, all on one thread.
// @unchecked Sendable … because other threads only access it while the load's thread is in a call, and change nothing.
@safe
final class BoundRun: @unchecked Sendable {
    let linked: LinkedProgram
    let host: any RunHost
    private let pool: CallbackPool
    private var thread = pthread_self()
    let frame = CallFrame()
    let arena = LoadArena()
    var variables: [Value?]
    /// The slots by the callback's index.
    private var slots: [Int: CallbackSlot] = [:]
    /// A unique number for each run, so that a late callback is not taken for another load's.
    let token: UInt
    private static let tokens = ConditionLock(UInt(0x1000))

    private var cleanups: [LinkedCall] = []
    private var response: Response?
    private var hasResponded = false
    private var body: [UInt8]?
    /// The error of a callback.
    private var callbackEnd: RunEnd?
    private var isInCall = false

    init(_ linked: LinkedProgram, host: any RunHost, pool: CallbackPool) {
        self.linked = linked
        self.host = host
        self.pool = pool
        variables = Array(repeating: nil, count: linked.program.variableCount)
        token = Self.tokens.withLock { tokens in
            tokens &+= 16
            return tokens
        }
    }

    /// Runs the steps, and then their cleanup calls, even after an error.
    func run(_ steps: [LinkedStep]) throws(RunEnd) {
        let end = outcome(of: steps)
        while let cleanup = cleanups.popLast() {
            // An error here has no receiver.
            do throws(RunEnd) { _ = try invoke(cleanup, .always) } catch {}
        }
        for slot in slots.values { pool.putBack(slot) }
        slots = [:]
        if let end { throw end }
    }

    /// Runs the steps that set the library up.
    ///
    /// The library may retain what it receives there, as `openlog(3)` and `putenv(3)` do, and is never closed. So its
    /// memory lives as long as the process, even after a failed step, and its callbacks are not reused.
    func runSetup(_ steps: [LinkedStep]) throws(RunEnd) {
        Self.kept.withLock { $0.append(KeptMemory(arena: arena, frame: frame)) }
        let end = outcome(of: steps)
        slots = [:]
        if let end { throw end }
    }

    private struct KeptMemory: @unchecked Sendable {  // … because nothing reads it: it only keeps the memory alive
        let arena: LoadArena
        let frame: CallFrame
    }
    private static let kept = ConditionLock<[KeptMemory]>([])

    /// Runs the steps. Afterwards callbacks no longer reach this run.
    private func outcome(of steps: [LinkedStep]) -> RunEnd? {
        thread = pthread_self()
        defer { for slot in slots.values { slot.serve(nil) } }
        do throws(RunEnd) {
            for step in steps { try perform(step) }
            try begin()
        } catch {
            return error
        }
        return nil
    }

    private func perform(_ linked: LinkedStep) throws(RunEnd) {
        if let when = linked.step.when, !holds(when.condition, try evaluate(when.value, nil)) { return }
        switch linked.step.action {
        case .call(let step):
            if let call = linked.call { try perform(step, call, linked) }
        case .respond(let response): self.response = try make(response)
        case .deliver(let value): try deliver(try evaluate(value, nil))
        case .require(let requirement):
            let value = try evaluate(requirement.value, nil)
            guard holds(requirement.condition, value) else {
                throw failure(linked, nil, "'\(requirement.phrase)' is \(value.phrase ?? "not as required") in this request")
            }
        }
    }

    private func perform(_ step: Step.CallStep, _ call: LinkedCall, _ linked: LinkedStep) throws(RunEnd) {
        let permit = step.isStoppable ? Permit.stoppable : .wanted
        while true {
            let result = try invoke(call, permit)
            if let end = callbackEnd { throw end }
            let isLast = linked.until.map { holds($0, result) } ?? false
            if !isLast, let flaw = flaw(of: result, call, linked) {
                if linked.step.failure.tellsMore { takeRemains(of: call, result, step) }
                throw failure(linked, result, "\(call.name) of \(host.libraryName) \(flaw)")
            }
            if let variable = step.result { variables[variable] = result }
            // Register the cleanup first: the result may need it, and the outputs may be invalid.
            if let cleanup = linked.cleanup { cleanups.append(cleanup) }
            if call.plan.putsOut { try takeOutputs(of: call, result, isLast: isLast) }
            if let value = step.deliver, !isLast || hasContent(linked.ownVariables) { try deliver(try evaluate(value, result)) }
            if isLast || linked.until == nil { return }
        }
    }

    /// Whether one of the variables has a value that is no empty text and no empty bytes.
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

    /// Why a step cannot continue with the result of its call; `nil` if it can.
    private func flaw(of result: Value, _ call: LinkedCall, _ linked: LinkedStep) -> String? {
        if let check = linked.check, !holds(check, result) { return "failed\(result.phrase.map { " with \($0)" } ?? "")" }
        if case .null = result, !Self.mayBeNull(call.call.result) { return "returned NULL, which it should not" }
        if call.plan.fillsByResult, case .integer(let filled) = result, filled < 0 { return "failed with \(filled)" }
        return nil
    }

    private static func mayBeNull(_ result: Signature.ReturnType) -> Bool {
        switch result {
        case .void: true
        case .value(.text(let isOptional), _), .value(.pointer(_, let isOptional), _): isOptional
        case .value(.scalar, _), .bytes: false
        }
    }

    // MARK: Events

    private func make(_ source: Step.Response) throws(RunEnd) -> Response {
        var response = Response(url: host.request.url)
        if case .integer(let status) = try source.status.map(evaluate) ?? .null {
            guard ProgramChecker.statuses.contains(status) else {
                throw RunEnd(.badResponse, "the binding gives the status \(status), which is not valid")
            }
            response.status = .init(code: Int(status))
        }
        if case .integer(let length) = try source.length.map(evaluate) ?? .null {
            guard let length = Int64(exactly: length), length >= 0 else {
                throw RunEnd(.badResponse, "the binding gives the length \(length), which is not valid")
            }
            response.expectedLength = length
        }
        let text = { (source: Expression?) throws(RunEnd) -> String? in
            guard case .text(let text) = try source.map(self.evaluate) ?? .null else { return nil }
            return ForeignText.line(text)
        }
        let mimeType = try text(source.mimeType).flatMap { MIMEType(parsing: $0) }
        return Response(
            url: response.url, mimeType: mimeType, textEncodingName: try text(source.textEncoding), expectedLength: response.expectedLength,
            suggestedFilename: try text(source.filename), status: response.status)
    }

    private func evaluate(_ expression: Expression) throws(RunEnd) -> Value { try evaluate(expression, nil) }

    /// Delivers the response, unless that has already happened.
    private func begin() throws(RunEnd) {
        guard !hasResponded else { return }
        hasResponded = true
        guard host.respond(response ?? Response(url: host.request.url)) else { throw .stopped }
    }

    private func deliver(_ value: Value) throws(RunEnd) {
        switch value {
        // Without a copy, because memory in the arena lives until the load is over.
        case .text(let text):
            guard !text.isEmpty else { return }
            try begin()
            guard unsafe text.withUnsafeBytes({ unsafe host.deliver($0) }) else { throw .stopped }
        case .region(let address, let count): try deliver(address, count)
        case .null, .integer, .real, .boolean, .pointer: return
        }
    }

    private func deliver(_ address: UInt, _ count: Int) throws(RunEnd) {
        guard count > 0 else { return }
        try begin()
        guard unsafe host.deliver(UnsafeRawBufferPointer(start: UnsafeRawPointer(bitPattern: address), count: count)) else {
            throw .stopped
        }
    }

    /// The error for the caller. Parts that the failed step itself should have provided are left out.
    private func failure(_ linked: LinkedStep, _ result: Value?, _ phrase: String) -> RunEnd {
        let failure = linked.step.failure
        var code = failure.code
        if case .integer(let number)? = result, let special = failure.codes[number] { code = special }
        var message = phrase
        if let own = failure.message, let text = text({ () throws(RunEnd) in try evaluate(own, result, inMessage: true) }) {
            message = text
        }
        if let call = linked.text {
            if let result { judged = result }
            if let text = text({ () throws(RunEnd) in try invoke(call, .always) }) { message += ": \(text)" }
        }
        return RunEnd(LoadError.Code(rawValue: code), message)
    }

    /// The text on one line; `nil` if its values are missing.
    private func text(_ value: () throws(RunEnd) -> Value) -> String? {
        do throws(RunEnd) {
            guard case .text(let text) = try value(), !text.isEmpty else { return nil }
            return ForeignText.line(text)
        } catch {
            return nil
        }
    }

    /// The value of `{result}` in the call that provides an error's text.
    var judged: Value = .null

    // MARK: Calls

    /// When a call may be made.
    private enum Permit {
        /// Only if the load is not stopped.
        case wanted
        /// The same, and the stop function may end the call.
        case stoppable
        /// Also after a stop, for calls that clean up or describe an error.
        case always
    }

    /// Makes a call.
    ///
    /// - Returns: The result; `.null` if the function returns nothing.
    private func invoke(_ linked: LinkedCall, _ permit: Permit) throws(RunEnd) -> Value {
        if let words = linked.plan.words, place(words) {} else { try place(linked.call, in: frame) }
        let mayCall =
            switch permit {
            case .wanted: host.mayCall
            case .stoppable: host.enterCall()
            case .always: true
            }
        guard mayCall else { throw .stopped }
        isInCall = true
        linked.interface.call(linked.function, frame)
        isInCall = false
        if permit == .stoppable { host.leaveCall() }
        switch linked.plan.outcome {
        case .nothing: return .null
        case .scalar(let scalar): return unsafe scalar.loadResult(frame.result)
        case .other: return try result(of: linked, in: frame)
        }
    }

    /// Calls the stop function from another thread, to end the call on the load's thread.
    func callStop() {
        guard let stop = linked.stop else { return }
        let frame = CallFrame()
        // Its arguments may not exist yet. Then the load ends at the next step.
        do throws(RunEnd) { try place(stop.call, in: frame) } catch { return }
        stop.interface.call(stop.function, frame)
    }

    func slot(_ index: Int) throws(RunEnd) -> CallbackSlot {
        if let slot = slots[index] { return slot }
        do throws(LoadError) {
            let slot = try pool.take(index)
            slot.serve(self)
            slots[index] = slot
            return slot
        } catch {
            throw .failed(error)
        }
    }

    /// The complete body of the request.
    func wholeBody() throws(RunEnd) -> [UInt8] {
        if let body { return body }
        var bytes: [UInt8] = []
        let chunk = UnsafeMutableRawBufferPointer.allocate(byteCount: 64 << 10, alignment: 16)
        defer { unsafe chunk.deallocate() }
        while true {
            let count = try unsafe host.readBody(chunk)
            guard count > 0 else { break }
            guard bytes.count + count <= Self.bodyLimit else {
                throw RunEnd(.limitExceeded, "the request's body has over \(Self.bodyLimit) bytes, which is the limit of a binding")
            }
            unsafe bytes.append(contentsOf: chunk[..<count])
        }
        body = bytes
        return bytes
    }

    private static let bodyLimit = 64 << 20

    // MARK: Callbacks

    /// Handles a callback from the library.
    ///
    /// - Returns: The return value; `nil` tells the library to stop.
    func called(_ callback: Callback, _ arguments: UnsafeMutablePointer<UnsafeMutableRawPointer?>) -> Int128? {
        // `isInCall` may be read on this thread only.
        guard pthread_equal(thread, pthread_self()) != 0, isInCall else { return nil }
        guard callbackEnd == nil else { return nil }
        do throws(RunEnd) {
            return try returnValue(of: callback, unsafe CallbackArguments(callback.signature, arguments, token: token))
        } catch {
            callbackEnd = error
            return nil
        }
    }

    private func returnValue(of callback: Callback, _ arguments: CallbackArguments) throws(RunEnd) -> Int128 {
        try arguments.checkUser(of: callback.name)
        guard host.mayCall else { throw .stopped }
        var count = 0
        if let index = callback.deliver {
            let (address, length) = try arguments.bytes(index, of: callback.name)
            count = try atOnce(length)
            try deliver(address, count)
        } else if let index = callback.fill {
            let (address, length) = try arguments.bytes(index, of: callback.name)
            if try atOnce(length) > 0 {
                let room = unsafe UnsafeMutableRawBufferPointer(start: UnsafeMutableRawPointer(bitPattern: address), count: length)
                count = try unsafe host.readBody(room)
            }
        }
        switch callback.returns {
        case .nothing: return 0
        case .integer(let integer): return integer
        case .length: return Int128(count)
        }
    }
}
