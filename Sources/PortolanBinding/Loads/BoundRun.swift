// SPDX-License-Identifier: Apache-2.0

import HTTPTypes
import PortolanCore

#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#endif

/// Why a load's steps do not go on.
enum RunEnd: Error {
    case stopped
    case failed(LoadError)

    init(_ code: LoadError.Code, _ message: String) {
        self = .failed(LoadError(code, message: message))
    }
}

/// What the steps of one load know of the world: the request and the settings, the client, and when to stop.
protocol RunHost: AnyObject, Sendable {
    var request: Request { get }
    var settings: [String: PropertyValue] { get }
    var libraryName: String { get }
    /// Whether the load is wanted: a call that nobody can end may be made, and a callback is answered.
    var mayCall: Bool { get }
    /// Before a call that the stop function may end.
    ///
    /// - Returns: whether it may be made; then ``leaveCall()`` follows it.
    func enterCall() -> Bool
    func leaveCall()
    /// Waits where the reader is slow.
    ///
    /// - Returns: whether the load is still wanted.
    func respond(_ response: Response) -> Bool
    func deliver(_ bytes: UnsafeRawBufferPointer) -> Bool
    /// Takes the next bytes of the request's body, 0 at its end.
    func readBody(_ room: UnsafeMutableRawBufferPointer) throws(RunEnd) -> Int
}

/// One run of a binding's steps, on one thread from begin to end.
// @unchecked Sendable … because what others touch, they touch while the load's thread is in a call, and do not change.
@safe
final class BoundRun: @unchecked Sendable {
    let linked: LinkedProgram
    let host: any RunHost
    private let pool: CallbackPool
    private var thread = pthread_self()
    let frame = CallFrame()
    let arena = LoadArena()
    var variables: [Value?]
    /// By the callback's index.
    private var slots: [Int: CallbackSlot] = [:]
    /// No two runs have the same: a late callback is not taken for another load's.
    let token: UInt
    private static let tokens = ConditionLock(UInt(0x1000))

    private var cleanups: [LinkedCall] = []
    private var response: Response?
    private var hasResponded = false
    private var body: [UInt8]?
    /// What went wrong in a callback.
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

    /// Runs the steps, and then what cleans up after them, whatever came of them.
    func run(_ steps: [LinkedStep]) throws(RunEnd) {
        let end = outcome(of: steps)
        while let cleanup = cleanups.popLast() {
            // There is nobody to tell of what goes wrong here.
            do throws(RunEnd) { _ = try invoke(cleanup, .always) } catch {}
        }
        for slot in slots.values { pool.putBack(slot) }
        slots = [:]
        if let end { throw end }
    }

    /// Runs the steps that set the library up.
    ///
    /// The library may keep what it is handed there, as `openlog(3)` and `putenv(3)` do, and is never closed: so its memory is kept as long as the
    /// process, also where a step fails, and its callbacks serve nobody else.
    func runSetup(_ steps: [LinkedStep]) throws(RunEnd) {
        Self.kept.withLock { $0.append(KeptMemory(arena: arena, frame: frame)) }
        let end = outcome(of: steps)
        slots = [:]
        if let end { throw end }
    }

    private struct KeptMemory: @unchecked Sendable {  // … because nothing reads it: it is there to be kept
        let arena: LoadArena
        let frame: CallFrame
    }
    private static let kept = ConditionLock<[KeptMemory]>([])

    /// Runs the steps. Afterwards callbacks reach nothing of this run.
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
                throw failure(linked, nil, "'\(requirement.words)' is \(value.words ?? "what it may not be") in this request")
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
            // The result may be what has to be let go again; what the function puts out may be at fault.
            if let cleanup = linked.cleanup { cleanups.append(cleanup) }
            if call.plan.putsOut { try takeOutputs(of: call, result, isLast: isLast) }
            if let value = step.deliver, !isLast || hasContent(linked.ownVariables) { try deliver(try evaluate(value, result)) }
            if isLast || linked.until == nil { return }
        }
    }

    /// Whether one of these is there, and is no empty text and no empty bytes.
    private func hasContent(_ variables: [Int]) -> Bool {
        variables.contains { index in
            switch self.variables[index] {
            case .text(let text)?: !text.isEmpty
            case .region(_, let count)?: count > 0
            case .integer?, .real?, .truth?, .pointer?: true
            case .null?, nil: false
            }
        }
    }

    /// Why a step can't go on with what its call gave.
    private func flaw(of result: Value, _ call: LinkedCall, _ linked: LinkedStep) -> String? {
        if let check = linked.check, !holds(check, result) { return "failed\(result.words.map { " with \($0)" } ?? "")" }
        if case .null = result, !Self.mayBeNull(call.call.result) { return "gave NULL, where it should not" }
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

    // MARK: What is told

    private func make(_ source: Step.Response) throws(RunEnd) -> Response {
        var response = Response(url: host.request.url)
        if case .integer(let status) = try source.status.map(evaluate) ?? .null {
            guard ProgramChecker.statuses.contains(status) else {
                throw RunEnd(.badResponse, "the binding gives the status \(status), which is none")
            }
            response.status = .init(code: Int(status))
        }
        if case .integer(let length) = try source.length.map(evaluate) ?? .null {
            guard let length = Int64(exactly: length), length >= 0 else {
                throw RunEnd(.badResponse, "the binding gives the length \(length), which is none")
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

    /// Reports the response, unless it was.
    private func begin() throws(RunEnd) {
        guard !hasResponded else { return }
        hasResponded = true
        guard host.respond(response ?? Response(url: host.request.url)) else { throw .stopped }
    }

    private func deliver(_ value: Value) throws(RunEnd) {
        switch value {
        // From where it lies: what the arena has, it has until the load is over.
        case .text(let text):
            guard !text.isEmpty else { return }
            try begin()
            guard unsafe text.withUnsafeBytes({ unsafe host.deliver($0) }) else { throw .stopped }
        case .region(let address, let count): try deliver(address, count)
        case .null, .integer, .real, .truth, .pointer: return
        }
    }

    private func deliver(_ address: UInt, _ count: Int) throws(RunEnd) {
        guard count > 0 else { return }
        try begin()
        guard unsafe host.deliver(UnsafeRawBufferPointer(start: UnsafeRawPointer(bitPattern: address), count: count)) else {
            throw .stopped
        }
    }

    /// What a step's failure is to those who asked. What can't be told of it, because the step itself was to give it, is left out.
    private func failure(_ linked: LinkedStep, _ result: Value?, _ words: String) -> RunEnd {
        let failure = linked.step.failure
        var code = failure.code
        if case .integer(let number)? = result, let special = failure.codes[number] { code = special }
        var message = words
        if let own = failure.message, let text = text({ () throws(RunEnd) in try evaluate(own, result, inMessage: true) }) {
            message = text
        }
        if let call = linked.text {
            if let result { judged = result }
            if let text = text({ () throws(RunEnd) in try invoke(call, .always) }) { message += ": \(text)" }
        }
        return RunEnd(LoadError.Code(rawValue: code), message)
    }

    /// `nil` where what it is made of is not there.
    private func text(_ value: () throws(RunEnd) -> Value) -> String? {
        do throws(RunEnd) {
            guard case .text(let text) = try value(), !text.isEmpty else { return nil }
            return ForeignText.line(text)
        } catch {
            return nil
        }
    }

    /// What `{result}` is, while an error's text is asked for.
    var judged: Value = .null

    // MARK: Calls

    /// When a call may be made.
    private enum Permit {
        /// While the load is wanted.
        case wanted
        /// Likewise, and the stop function may end it.
        case stoppable
        /// Also once the load is stopped: it cleans up, or tells an error.
        case always
    }

    /// Makes a call.
    ///
    /// - Returns: what it gave; `.null` where it gives nothing.
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

    /// Ends, from another thread, what the load's thread is in.
    func callStop() {
        guard let stop = linked.stop else { return }
        let frame = CallFrame()
        // What it needs may not be there yet: then the next step ends the load.
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

    /// The request's body, whole.
    func wholeBody() throws(RunEnd) -> [UInt8] {
        if let body { return body }
        var bytes: [UInt8] = []
        let chunk = UnsafeMutableRawBufferPointer.allocate(byteCount: 64 << 10, alignment: 16)
        defer { unsafe chunk.deallocate() }
        while true {
            let count = try unsafe host.readBody(chunk)
            guard count > 0 else { break }
            guard bytes.count + count <= Self.bodyLimit else {
                throw RunEnd(.limitExceeded, "the request's body has over \(Self.bodyLimit) bytes, the most that a binding takes at once")
            }
            unsafe bytes.append(contentsOf: chunk[..<count])
        }
        body = bytes
        return bytes
    }

    private static let bodyLimit = 64 << 20

    // MARK: Being called

    /// The library calls back.
    ///
    /// - Returns: what it is answered; `nil`: that it is to stop.
    func called(_ callback: Callback, _ arguments: UnsafeMutablePointer<UnsafeMutableRawPointer?>) -> Int128? {
        // Whether a call runs is for this thread alone to read.
        guard pthread_equal(thread, pthread_self()) != 0, isInCall else { return nil }
        guard callbackEnd == nil else { return nil }
        do throws(RunEnd) {
            return try answer(callback, unsafe CallbackArguments(callback.signature, arguments, token: token))
        } catch {
            callbackEnd = error
            return nil
        }
    }

    private func answer(_ callback: Callback, _ arguments: CallbackArguments) throws(RunEnd) -> Int128 {
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
