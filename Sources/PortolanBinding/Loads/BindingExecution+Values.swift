// SPDX-License-Identifier: Apache-2.0

import HTTPTypes
import PortolanCore
import PortolanJSON

/// Conversion of values between Swift and C.
extension BindingExecution {
    // MARK: From Swift to C

    /// Stores the arguments of a call in the frame.
    func storeArguments(of call: Call, in frame: CallFrame) throws(ExecutionEnd) {
        for (index, operand) in call.operands.enumerated() {
            switch operand {
            case .value(let expression, let type): try store(try evaluate(expression, testedResult), type, index, frame)
            case .bytes(let expression): try store(bytes: try evaluate(expression, testedResult), index, frame)
            case .buffer(let capacity, _, let variable):
                let capacity = try size(of: capacity)
                frame.setPointer(index, to: buffers.bufferAddress(ofVariable: variable, capacity: capacity))
                frame.lengths[index] = capacity
            case .outParameter, .outBytes, .outLength: frame.setOutput(index)
            case .callback(let callback): frame.setPointer(index, to: try callbackSlot(callback).address)
            case .userData: frame.setPointer(index, to: token)
            case .length: break
            }
        }
        // Lengths come last, because the other operands determine them.
        for (index, operand) in call.operands.enumerated() {
            guard case .length(let bytesIndex, let scalar) = operand else { continue }
            let length = Int128(frame.lengths[bytesIndex])
            guard scalar.range.contains(length) else {
                throw ExecutionEnd(.limitExceeded, "\(length) bytes are more than the library accepts in one call (\(scalar.rawValue))")
            }
            unsafe scalar.store(integer: length, at: UnsafeMutableRawPointer(frame.cells + index))
        }
    }

    private func size(of capacity: BufferCapacity) throws(ExecutionEnd) -> Int {
        switch capacity {
        case .constant(let size): return size
        case .value(let expression, let limit):
            guard case .integer(let size) = try evaluate(expression, testedResult), size >= 0 else {
                throw ExecutionEnd(.protocolViolation, "\(context.libraryName) gave a size for a buffer that is no size")
            }
            guard size <= limit else {
                throw ExecutionEnd(.limitExceeded, "\(context.libraryName) needs a buffer of \(size) bytes; the binding allows \(limit)")
            }
            return Int(size)
        }
    }

    private func store(_ value: Value, _ type: CType, _ index: Int, _ frame: CallFrame) throws(ExecutionEnd) {
        switch (type, value) {
        case (.text, .text(let text)):
            guard !text.contains(0) else {
                throw ExecutionEnd(
                    .badURL, "a text for \(context.libraryName) contains a NUL byte, which would end it; remove it from the request")
            }
            frame.setPointer(index, to: arena.cStringAddress(of: text))
        case (.text(isOptional: true), .null), (.pointer(_, isOptional: true), .null): frame.setPointer(index, to: 0)
        case (.pointer, .pointer(let address)): frame.setPointer(index, to: address)
        case (.scalar(let scalar), .integer(let integer)) where scalar.isInteger:
            guard scalar.range.contains(integer) else {
                throw ExecutionEnd(
                    .badRequest, "\(integer) does not fit the library's \(scalar.rawValue); use another value in the request")
            }
            unsafe scalar.store(integer: integer, at: UnsafeMutableRawPointer(frame.cells + index))
        case (.scalar(.bool), .boolean(let boolean)):
            unsafe ScalarType.bool.store(integer: boolean ? 1 : 0, at: UnsafeMutableRawPointer(frame.cells + index))
        case (.scalar(let scalar), .real(let real)) where !scalar.isInteger && scalar != .bool:
            unsafe scalar.store(real: real, at: UnsafeMutableRawPointer(frame.cells + index))
        case (.scalar(let scalar), .integer(let integer)) where scalar != .bool:
            unsafe scalar.store(real: Double(integer), at: UnsafeMutableRawPointer(frame.cells + index))
        default:
            throw ExecutionEnd(.badRequest, "a value of the request is \(value.phrase ?? "absent"), where the binding needs \(type.phrase)")
        }
    }

    private func store(bytes value: Value, _ index: Int, _ frame: CallFrame) throws(ExecutionEnd) {
        switch value {
        case .text(let text):
            frame.setPointer(index, to: arena.cStringAddress(of: text))
            frame.lengths[index] = text.count
        case .region(let address, let count):
            frame.setPointer(index, to: address)
            frame.lengths[index] = count
        case .null, .integer, .real, .boolean, .pointer:
            throw ExecutionEnd(.badRequest, "a value of the request is \(value.phrase ?? "absent"), where the binding needs bytes")
        }
    }

    // MARK: From C to Swift

    /// Reads the result of a call. Copies text and bytes, and frees the library's memory if the binding says so.
    func result(of linkedCall: LinkedCall, in frame: CallFrame) throws(ExecutionEnd) -> Value {
        switch linkedCall.call.result {
        case .void: return .null
        case .value(.scalar(let scalar), _): return unsafe scalar.loadResult(at: frame.result)
        case .value(.pointer, _): return pointerResult(in: frame)
        case .value(.text, _):
            let address = unsafe UnsafeRawPointer(frame.result).load(as: UInt.self)
            defer { if let free = linkedCall.free { call(free, address) } }
            return try copyText(at: address)
        case .bytes(let length, _):
            let address = unsafe UnsafeRawPointer(frame.result).load(as: UInt.self)
            defer { if let free = linkedCall.free { call(free, address) } }
            guard address != 0 else { return .null }
            return try copyBytes(at: address, count: try count(length, linkedCall.call, frame))
        }
    }

    func pointerResult(in frame: CallFrame) -> Value {
        let address = unsafe UnsafeRawPointer(frame.result).load(as: UInt.self)
        return address == 0 ? .null : .pointer(address)
    }

    /// Frees a text that was not copied, if the binding says so.
    func freeText(_ result: Value, of linkedCall: LinkedCall) {
        if let free = linkedCall.free, case .pointer(let address) = result { call(free, address) }
    }

    private func call(_ free: LinkedCall.FreeingFunction, _ address: UInt) {
        guard address != 0 else { return }
        let frame = CallFrame()
        frame.setPointer(0, to: address)
        free.interface.call(free.function, frame)
    }

    /// Copies and frees the texts in outputs that the library allocated. This happens directly after the call, so that
    /// they are freed however the load goes on.
    func takeOwnedOutputs(of linkedCall: LinkedCall) {
        for (index, free) in linkedCall.outputFrees {
            let address = unsafe UnsafeRawPointer(frame.outputs + index).load(as: UInt.self)
            do throws(ExecutionEnd) {
                ownedOutputs[index] = .success(try copyText(at: address))
            } catch {
                ownedOutputs[index] = .failure(error)
            }
            call(free, address)
        }
    }

    private func copyText(at address: UInt) throws(ExecutionEnd) -> Value {
        guard let start = unsafe UnsafePointer<UInt8>(bitPattern: address) else { return .null }
        var count = 0
        while unsafe start[count] != 0 {
            count += 1
            guard count <= ForeignText.limit else {
                throw ExecutionEnd(
                    .limitExceeded, "a text of \(context.libraryName) has over \(ForeignText.limit) bytes, which is the limit")
            }
        }
        return .text(unsafe Array(UnsafeBufferPointer(start: start, count: count)))
    }

    /// Copies bytes that the library owns.
    private func copyBytes(at address: UInt, count: Int) throws(ExecutionEnd) -> Value {
        let count = try checkChunkLength(count)
        return .text(unsafe Array(UnsafeBufferPointer(start: UnsafePointer<UInt8>(bitPattern: address), count: count)))
    }

    /// Returns `count`, or throws if it is over the limit for the bytes of one call or callback.
    func checkChunkLength(_ count: Int) throws(ExecutionEnd) -> Int {
        guard count <= BindingProgram.chunkLimit else {
            throw ExecutionEnd(
                .limitExceeded,
                "\(context.libraryName) gives \(count) bytes at a time; the limit is \(BindingProgram.chunkLimit)")
        }
        return count
    }

    /// Reads the length that the function stored through its argument `index`.
    ///
    /// - Parameter isLast: Whether the call is the last of a repeated step. Then an invalid length means 0, because the
    ///   library can mark the end with such a length.
    private func count(_ index: Int, _ call: Call, _ frame: CallFrame, isLast: Bool = false) throws(ExecutionEnd) -> Int {
        guard case .outLength(let scalar) = call.operands[index],
            case .integer(let integer) = unsafe scalar.load(at: UnsafeRawPointer(frame.outputs + index)), let count = Int(exactly: integer),
            count >= 0, count <= 1 << 40
        else {
            if isLast { return 0 }
            throw ExecutionEnd(.protocolViolation, "\(context.libraryName) gave bytes of an impossible length")
        }
        return count
    }

    /// Stores the outputs of a call in its variables.
    ///
    /// - Parameter isLast: Whether the call is the last of a repeated step. Missing outputs are then no error.
    func storeOutputs(of linkedCall: LinkedCall, _ result: Value, isLast: Bool) throws(ExecutionEnd) {
        for (index, operand) in linkedCall.call.operands.enumerated() {
            switch operand {
            case .outParameter(let type, let variable, let freedBy):
                variables[variable] = isLast && isNull(type, index) ? nil : try output(type, index, isOwned: freedBy != nil)
            case .outBytes(let length, let variable):
                let count = try checkChunkLength(try count(length, linkedCall.call, frame, isLast: isLast))
                let address = unsafe UnsafeRawPointer(frame.outputs + index).load(as: UInt.self)
                if isLast, address == 0 {
                    variables[variable] = .region(0, 0)
                    continue
                }
                guard address != 0 || count == 0 else {
                    throw ExecutionEnd(
                        .protocolViolation, "\(linkedCall.name) of \(context.libraryName) gave \(count) bytes at NULL")
                }
                variables[variable] = .region(address, count)
            case .buffer(_, let filledBy, let variable):
                let capacity = frame.lengths[index]
                let filledCount: Int128
                switch (filledBy, result) {
                // The last result can be negative, because a negative result can mark the end.
                case (.result, .integer(let integer)): filledCount = isLast ? max(integer, 0) : integer
                case (.parameter(let index), _): filledCount = Int128(try count(index, linkedCall.call, frame, isLast: isLast))
                case (.result, _), (.host, _): filledCount = 0
                }
                guard (0...Int128(capacity)).contains(filledCount) else {
                    throw ExecutionEnd(
                        .protocolViolation,
                        "\(linkedCall.name) of \(context.libraryName) reports \(filledCount) bytes in a buffer of \(capacity)")
                }
                variables[variable] = .region(buffers.bufferAddress(ofVariable: variable, capacity: capacity), Int(filledCount))
            case .value, .bytes, .length, .outLength, .callback, .userData: break
            }
        }
    }

    /// Stores the result and the outputs of a failed call, because the error message can use them.
    func storeOutputs(ofFailedCall linkedCall: LinkedCall, _ result: Value, _ step: Step.CallStep) {
        if let variable = step.result { variables[variable] = result }
        for (index, operand) in linkedCall.call.operands.enumerated() {
            switch operand {
            case .outParameter(let type, let variable, let freedBy):
                do throws(ExecutionEnd) {
                    variables[variable] = try output(type, index, isOwned: freedBy != nil)
                } catch {
                    variables[variable] = nil
                }
            // The number of valid bytes is unknown.
            case .outBytes(_, let variable), .buffer(_, _, let variable): variables[variable] = nil
            case .value, .bytes, .length, .outLength, .callback, .userData: break
            }
        }
    }

    /// Whether the function stored NULL as the text or handle of argument `index`.
    private func isNull(_ type: CType, _ index: Int) -> Bool {
        if case .scalar = type { return false }
        return unsafe UnsafeRawPointer(frame.outputs + index).load(as: UInt.self) == 0
    }

    /// - Parameter isOwned: Whether ``takeOwnedOutputs(of:)`` has copied and freed the text.
    private func output(_ type: CType, _ index: Int, isOwned: Bool) throws(ExecutionEnd) -> Value {
        let memory = unsafe UnsafeRawPointer(frame.outputs + index)
        switch type {
        case .scalar(let scalar): return unsafe scalar.load(at: memory)
        case .text(let isOptional):
            let text =
                if isOwned, let owned = ownedOutputs[index] { try owned.get() } else { try copyText(at: unsafe memory.load(as: UInt.self)) }
            guard isOptional || text != .null else {
                throw ExecutionEnd(.badResponse, "\(context.libraryName) gave NULL for an output that can't be NULL")
            }
            return text
        case .pointer(_, let isOptional):
            let address = unsafe memory.load(as: UInt.self)
            guard isOptional || address != 0 else {
                throw ExecutionEnd(.badResponse, "\(context.libraryName) gave NULL for an output that can't be NULL")
            }
            return address == 0 ? .null : .pointer(address)
        }
    }

    /// Reads a field, which can be unaligned in a packed struct.
    private func read(_ field: StructField, ofStructAt address: UInt) throws(ExecutionEnd) -> Value {
        let (place, overflows) = address.addingReportingOverflow(UInt(field.offset))
        guard !overflows, let memory = unsafe UnsafeRawPointer(bitPattern: place) else {
            throw ExecutionEnd(.protocolViolation, "\(context.libraryName) gave a handle that is no address")
        }
        switch field.kind {
        case .characters(let count): return .text(unsafe Array(UnsafeRawBufferPointer(start: memory, count: count).prefix { $0 != 0 }))
        case .value(.scalar(let scalar)):
            var word = UInt64(0)
            return unsafe withUnsafeMutableBytes(of: &word) { word in
                unsafe word.copyMemory(from: UnsafeRawBufferPointer(start: memory, count: scalar.width))
                return unsafe word.baseAddress.map { unsafe scalar.load(at: UnsafeRawPointer($0)) } ?? .null
            }
        case .value(.text(let isOptional)):
            let text = try copyText(at: unsafe memory.loadUnaligned(as: UInt.self))
            guard isOptional || text != .null else { throw nullField }
            return text
        case .value(.pointer(_, let isOptional)):
            let address = unsafe memory.loadUnaligned(as: UInt.self)
            guard isOptional || address != 0 else { throw nullField }
            return address == 0 ? .null : .pointer(address)
        }
    }

    private var nullField: ExecutionEnd {
        ExecutionEnd(.badResponse, "\(context.libraryName) gave NULL for a field of a struct that can't be NULL")
    }

    // MARK: Evaluation

    /// - Parameters:
    ///   - result: The value of `{result}`. `nil` stands for ``testedResult``.
    ///   - isMessage: Whether the value is part of a message. `{url}` then omits user name and password (ERR-05).
    func evaluate(_ expression: Expression, _ result: Value?, inMessage isMessage: Bool = false) throws(ExecutionEnd) -> Value {
        switch expression {
        case .null: return .null
        case .boolean(let boolean): return .boolean(boolean)
        case .integer(let integer): return .integer(integer)
        case .real(let real): return .real(real)
        case .text(let text): return .text(Array(text.utf8))
        case .source(let source, let fallback):
            let value = try value(of: source, result, inMessage: isMessage)
            guard value == .null else { return value }
            switch fallback {
            case .text(let text)?: return .text(Array(text.utf8))
            case .integer(let integer)?: return .integer(integer)
            case nil: return .null
            }
        case .joined(let parts):
            var text: [UInt8] = []
            for part in parts {
                switch try evaluate(part, result, inMessage: isMessage) {
                case .text(let part): text += part
                case .integer(let integer): text += "\(integer)".utf8
                case .boolean(let boolean): text += "\(boolean)".utf8
                case .real(let real): text += "\(real)".utf8
                case .null, .region, .pointer: break
                }
            }
            return .text(text)
        }
    }

    private func value(of source: ValueOrigin, _ result: Value?, inMessage isMessage: Bool) throws(ExecutionEnd) -> Value {
        switch source {
        case .url(.all, _) where isMessage: return Self.value(of: .all, in: context.request.url.withoutCredentials, isDecoded: false)
        case .url(let part, let isDecoded): return Self.value(of: part, in: context.request.url, isDecoded: isDecoded)
        case .method: return .text(Array(context.request.method.rawValue.utf8))
        case .field(let name):
            guard let fieldName = HTTPField.Name(name), let value = context.request.fields[fieldName] else { return .null }
            return .text(Array(value.utf8))
        case .property(let name): return Value(context.request.properties[name])
        case .setting(let name): return Value(context.settings[name])
        case .body: return .text(try wholeBody())
        case .variable(let index): return variables[index] ?? .null
        case .structField(let source, let field):
            guard case .pointer(let address) = try value(of: source, result, inMessage: isMessage) else { return .null }
            return try read(field, ofStructAt: address)
        case .length(let source):
            switch try value(of: source, result, inMessage: isMessage) {
            case .text(let text): return .integer(Int128(text.count))
            case .region(_, let count): return .integer(Int128(count))
            case .null, .integer, .real, .boolean, .pointer: return .null
            }
        case .encoded(let source, let format): return .text(format.encode(try value(of: source, result, inMessage: isMessage)))
        case .result: return result ?? testedResult
        }
    }

    private static func value(of part: ValueOrigin.URLPart, in url: URLRecord, isDecoded: Bool) -> Value {
        let text: Substring? =
            switch part {
            case .all: Substring(url.string.prefix { $0 != "#" })
            case .scheme: url.scheme
            case .username: url.username.isEmpty ? nil : url.username
            case .password: url.password.isEmpty ? nil : url.password
            case .host: url.host.flatMap { $0.isEmpty ? nil : $0 }
            case .path: url.path
            case .query: url.query
            case .fragment: url.fragment
            case .rest: url.schemeSpecificPart
            case .member: url.path.lastIndex(of: "!").map { url.path[url.path.index(after: $0)...] }
            case .port, .file: nil
            }
        if part == .file { return localPath(in: url).map { .text($0) } ?? .null }
        if part == .port { return url.port.map { .integer(Int128($0)) } ?? .null }
        guard let text else { return .null }
        return .text(isDecoded ? PercentEncoding.decodedBytes(text) : Array(text.utf8))
    }

    /// The decoded path of the `file:` URL in the path, up to the last `!`. `nil` if there is no `file:` URL of this
    /// host.
    private static func localPath(in url: URLRecord) -> [UInt8]? {
        let container = url.path.lastIndex(of: "!").map { url.path[..<$0] } ?? url.path
        // `try?` because another text is no `file:` URL.
        guard let file = try? URLRecord(parsing: String(container)), file.scheme == "file", file.query == nil,
            file.host.map({ $0.isEmpty || $0 == "localhost" }) ?? true
        else { return nil }
        return PercentEncoding.decodedBytes(file.path)
    }

    func isTrue(_ condition: Condition, for value: Value) -> Bool {
        switch condition.test {
        case .oneOf(let operands): operands.contains { isEqual($0, value) }
        case .noneOf(let operands): !operands.contains { isEqual($0, value) }
        case .atLeast(let operand): isTrue(.atLeast(operand), for: value)
        case .atMost(let operand): isTrue(.atMost(operand), for: value)
        case .isNull(let isNull): (value == .null) == isNull
        }
    }

    private func isEqual(_ operand: Expression, _ value: Value) -> Bool {
        switch (operand, value) {
        case (.source, .text), (.source, .integer):
            // Values that can fail (`ValueOrigin.canFail`) are no operands.
            do throws(ExecutionEnd) { return try evaluate(operand, nil) == value } catch { return false }
        case (.integer(let a), .integer(let b)): return a == b
        case (.boolean(let a), .boolean(let b)): return a == b
        case (.real(let a), .real(let b)): return a == b
        case (.integer(let a), .real(let b)): return Double(a) == b
        case (.text(let a), .text(let b)): return a.utf8.elementsEqual(b)
        default: return false
        }
    }
}

extension TextFormat {
    /// Writes the value. Bytes of a text that are not UTF-8 become U+FFFD in JSON.
    func encode(_ value: Value) -> [UInt8] {
        switch (self, value) {
        case (.csv, .text(let text)):
            guard text.isEmpty || text.contains(where: { [0x0A, 0x0D, UInt8(ascii: ","), UInt8(ascii: "\"")].contains($0) }) else {
                return text
            }
            return [UInt8(ascii: "\"")] + text.flatMap { $0 == UInt8(ascii: "\"") ? [$0, $0] : [$0] } + [UInt8(ascii: "\"")]
        case (.json, .text(let text)): return JSONValue.string(String(decoding: text, as: UTF8.self)).bytes
        case (_, .integer(let integer)): return Array("\(integer)".utf8)
        case (.csv, .real(let real)): return Array("\(real)".utf8)
        case (.json, .real(let real)): return Array((real.isFinite ? "\(real)" : "null").utf8)
        case (_, .boolean(let boolean)): return Array("\(boolean)".utf8)
        case (.csv, .null), (.csv, .region), (.csv, .pointer): return []
        case (.json, .null), (.json, .region), (.json, .pointer): return Array("null".utf8)
        }
    }
}

extension Value {
    init(_ value: PropertyValue?) {
        self =
            switch value {
            case nil: .null
            case .text(let text)?: .text(Array(text.utf8))
            case .bytes(let bytes)?: .text(bytes)
            case .integer(let integer)?: .integer(Int128(integer))
            case .real(let real)?: .real(real)
            case .boolean(let boolean)?: .boolean(boolean)
            }
    }
}
