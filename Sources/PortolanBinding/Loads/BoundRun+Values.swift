// SPDX-License-Identifier: Apache-2.0

import HTTPTypes
import PortolanCore

/// Conversion of values between Swift and C.
extension BoundRun {
    // MARK: From Swift to C

    /// Stores a call's arguments where libffi reads them.
    func place(_ call: Call, in frame: CallFrame) throws(RunEnd) {
        for (index, operand) in call.operands.enumerated() {
            switch operand {
            case .value(let expression, let type): try place(try evaluate(expression, judged), type, index, frame)
            case .bytes(let expression): try place(bytes: try evaluate(expression, judged), index, frame)
            case .buffer(let capacity, _, let variable):
                frame.set(index, arena.buffer(variable, capacity: capacity))
                frame.lengths[index] = capacity
            case .out, .outBytes, .outLength: frame.setOutput(index)
            case .callback(let callback): frame.set(index, try slot(callback).address)
            case .user: frame.set(index, token)
            case .length: break
            }
        }
        // After all byte lengths are known.
        for (index, operand) in call.operands.enumerated() {
            guard case .length(let measured, let scalar) = operand else { continue }
            let length = Int128(frame.lengths[measured])
            guard scalar.range.contains(length) else {
                throw RunEnd(.limitExceeded, "\(length) bytes are more than the library takes at once (\(scalar.rawValue))")
            }
            unsafe scalar.store(integer: length, UnsafeMutableRawPointer(frame.cells + index))
        }
    }

    private func place(_ value: Value, _ type: CType, _ index: Int, _ frame: CallFrame) throws(RunEnd) {
        switch (type, value) {
        case (.text, .text(let text)):
            guard !text.contains(0) else {
                throw RunEnd(.badURL, "a text for \(host.libraryName) contains a NUL byte, which would end it; remove it from the request")
            }
            frame.set(index, arena.text(text))
        case (.text(isOptional: true), .null), (.pointer(_, isOptional: true), .null): frame.set(index, 0)
        case (.pointer, .pointer(let address)): frame.set(index, address)
        case (.scalar(let scalar), .integer(let integer)) where scalar.isInteger:
            guard scalar.range.contains(integer) else {
                throw RunEnd(.badRequest, "\(integer) does not fit the library's \(scalar.rawValue); ask for another value")
            }
            unsafe scalar.store(integer: integer, UnsafeMutableRawPointer(frame.cells + index))
        case (.scalar(.bool), .boolean(let boolean)):
            unsafe ScalarType.bool.store(integer: boolean ? 1 : 0, UnsafeMutableRawPointer(frame.cells + index))
        case (.scalar(let scalar), .real(let real)) where !scalar.isInteger && scalar != .bool:
            unsafe scalar.store(real: real, UnsafeMutableRawPointer(frame.cells + index))
        case (.scalar(let scalar), .integer(let integer)) where scalar != .bool:
            unsafe scalar.store(real: Double(integer), UnsafeMutableRawPointer(frame.cells + index))
        default:
            throw RunEnd(.badRequest, "a value of the request is \(value.phrase ?? "absent"), where the binding needs \(type.phrase)")
        }
    }

    private func place(bytes value: Value, _ index: Int, _ frame: CallFrame) throws(RunEnd) {
        switch value {
        case .text(let text):
            frame.set(index, arena.text(text))
            frame.lengths[index] = text.count
        case .region(let address, let count):
            frame.set(index, address)
            frame.lengths[index] = count
        case .null, .integer, .real, .boolean, .pointer:
            throw RunEnd(.badRequest, "a value of the request is \(value.phrase ?? "absent"), where the binding needs bytes")
        }
    }

    // MARK: From C to Swift

    /// The result of a call. Text is copied, and freed if the caller owns it.
    func result(of linked: LinkedCall, in frame: CallFrame) throws(RunEnd) -> Value {
        switch linked.call.result {
        case .void: return .null
        case .value(.scalar(let scalar), _): return unsafe scalar.loadResult(frame.result)
        case .value(.pointer, _):
            let address = unsafe UnsafeRawPointer(frame.result).load(as: UInt.self)
            return address == 0 ? .null : .pointer(address)
        case .value(.text, _):
            let address = unsafe UnsafeRawPointer(frame.result).load(as: UInt.self)
            defer { free(address, linked) }
            return try copyText(at: address)
        case .bytes(let length, _):
            let address = unsafe UnsafeRawPointer(frame.result).load(as: UInt.self)
            defer { free(address, linked) }
            guard address != 0 else { return .null }
            return try copyBytes(at: address, count: try count(length, linked.call, frame))
        }
    }

    private func free(_ address: UInt, _ linked: LinkedCall) {
        guard let free = linked.free, address != 0 else { return }
        let frame = CallFrame()
        frame.set(0, address)
        free.interface.call(free.function, frame)
    }

    private func copyText(at address: UInt) throws(RunEnd) -> Value {
        guard let start = unsafe UnsafePointer<UInt8>(bitPattern: address) else { return .null }
        var count = 0
        while unsafe start[count] != 0 {
            count += 1
            guard count <= ForeignText.limit else {
                throw RunEnd(.limitExceeded, "a text of \(host.libraryName) has over \(ForeignText.limit) bytes, which is the limit")
            }
        }
        return .text(unsafe Array(UnsafeBufferPointer(start: start, count: count)))
    }

    /// Copies bytes that are only borrowed, as a text.
    private func copyBytes(at address: UInt, count: Int) throws(RunEnd) -> Value {
        let count = try atOnce(count)
        return .text(unsafe Array(UnsafeBufferPointer(start: UnsafePointer<UInt8>(bitPattern: address), count: count)))
    }

    /// Checks that the library may give this number of bytes in one piece.
    func atOnce(_ count: Int) throws(RunEnd) -> Int {
        guard count <= BindingProgram.bytesLimit else {
            throw RunEnd(
                .limitExceeded,
                "\(host.libraryName) gives \(count) bytes at once; the limit is \(BindingProgram.bytesLimit)")
        }
        return count
    }

    /// The length that the function has stored in its argument `index`.
    ///
    /// - Parameter isLast: Whether the call is the last of a repeated step. An invalid length then means 0, because it
    ///   marks the end.
    private func count(_ index: Int, _ call: Call, _ frame: CallFrame, isLast: Bool = false) throws(RunEnd) -> Int {
        guard case .outLength(let scalar) = call.operands[index],
            case .integer(let integer) = unsafe scalar.load(UnsafeRawPointer(frame.outputs + index)), let count = Int(exactly: integer),
            count >= 0, count <= 1 << 40
        else {
            if isLast { return 0 }
            throw RunEnd(.protocolViolation, "\(host.libraryName) gave bytes of an impossible length")
        }
        return count
    }

    /// Stores the outputs of a call in the variables that its arguments name.
    ///
    /// - Parameter isLast: Whether the call is the last of a repeated step. Missing outputs are then no error.
    func takeOutputs(of linked: LinkedCall, _ result: Value, isLast: Bool) throws(RunEnd) {
        for (index, operand) in linked.call.operands.enumerated() {
            switch operand {
            case .out(let type, let variable): variables[variable] = isLast && isNull(type, index) ? nil : try output(type, index)
            case .outBytes(let length, let variable):
                let count = try atOnce(try count(length, linked.call, frame, isLast: isLast))
                let address = unsafe UnsafeRawPointer(frame.outputs + index).load(as: UInt.self)
                if isLast, address == 0 {
                    variables[variable] = .region(0, 0)
                    continue
                }
                guard address != 0 || count == 0 else {
                    throw RunEnd(
                        .protocolViolation, "\(linked.name) of \(host.libraryName) gave \(count) bytes at NULL")
                }
                variables[variable] = .region(address, count)
            case .buffer(let capacity, let filledBy, let variable):
                let filled: Int128
                switch (filledBy, result) {
                // May be negative if the manifest defines that as the end.
                case (.result, .integer(let integer)): filled = isLast ? max(integer, 0) : integer
                case (.parameter(let index), _): filled = Int128(try count(index, linked.call, frame, isLast: isLast))
                case (.result, _), (.host, _): filled = 0
                }
                guard (0...Int128(capacity)).contains(filled) else {
                    throw RunEnd(
                        .protocolViolation, "\(linked.name) of \(host.libraryName) says it filled \(filled) bytes of \(capacity)")
                }
                variables[variable] = .region(arena.buffer(variable, capacity: capacity), Int(filled))
            case .value, .bytes, .length, .outLength, .callback, .user: break
            }
        }
    }

    /// Stores the outputs of a failed call, because the error message may use them.
    func takeRemains(of linked: LinkedCall, _ result: Value, _ step: Step.CallStep) {
        if let variable = step.result { variables[variable] = result }
        for (index, operand) in linked.call.operands.enumerated() {
            switch operand {
            case .out(let type, let variable):
                do throws(RunEnd) { variables[variable] = try output(type, index) } catch { variables[variable] = nil }
            // The number of valid bytes is unknown.
            case .outBytes(_, let variable), .buffer(_, _, let variable): variables[variable] = nil
            case .value, .bytes, .length, .outLength, .callback, .user: break
            }
        }
    }

    /// Whether a function has stored NULL as a text or a handle.
    private func isNull(_ type: CType, _ index: Int) -> Bool {
        if case .scalar = type { return false }
        return unsafe UnsafeRawPointer(frame.outputs + index).load(as: UInt.self) == 0
    }

    private func output(_ type: CType, _ index: Int) throws(RunEnd) -> Value {
        let place = unsafe UnsafeRawPointer(frame.outputs + index)
        switch type {
        case .scalar(let scalar): return unsafe scalar.load(place)
        case .text(let isOptional):
            let text = try copyText(at: unsafe place.load(as: UInt.self))
            guard isOptional || text != .null else {
                throw RunEnd(.badResponse, "\(host.libraryName) gave NULL for an output that can't be NULL")
            }
            return text
        case .pointer(_, let isOptional):
            let address = unsafe place.load(as: UInt.self)
            guard isOptional || address != 0 else {
                throw RunEnd(.badResponse, "\(host.libraryName) gave NULL for an output that can't be NULL")
            }
            return address == 0 ? .null : .pointer(address)
        }
    }

    // MARK: Evaluation

    /// - Parameters:
    ///   - result: The value of `{result}`.
    ///   - isMessage: Whether the value is part of a message; `{url}` then omits user name and password (ERR-05).
    func evaluate(_ expression: Expression, _ result: Value?, inMessage isMessage: Bool = false) throws(RunEnd) -> Value {
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

    private func value(of source: Source, _ result: Value?, inMessage isMessage: Bool) throws(RunEnd) -> Value {
        switch source {
        case .url(.all, _) where isMessage: return Self.value(of: .all, in: host.request.url.withoutCredentials, isDecoded: false)
        case .url(let part, let isDecoded): return Self.value(of: part, in: host.request.url, isDecoded: isDecoded)
        case .method: return .text(Array(host.request.method.rawValue.utf8))
        case .field(let name):
            guard let fieldName = HTTPField.Name(name), let value = host.request.fields[fieldName] else { return .null }
            return .text(Array(value.utf8))
        case .property(let name): return Value(host.request.properties[name])
        case .setting(let name): return Value(host.settings[name])
        case .body: return .text(try wholeBody())
        case .variable(let index): return variables[index] ?? .null
        case .length(let source):
            switch try value(of: source, result, inMessage: isMessage) {
            case .text(let text): return .integer(Int128(text.count))
            case .region(_, let count): return .integer(Int128(count))
            case .null, .integer, .real, .boolean, .pointer: return .null
            }
        case .result: return result ?? judged
        }
    }

    private static func value(of part: Source.URLPart, in url: URLRecord, isDecoded: Bool) -> Value {
        let text: Substring? =
            switch part {
            case .all: Substring(url.description.prefix { $0 != "#" })
            case .scheme: url.scheme
            case .username: url.username.isEmpty ? nil : url.username
            case .password: url.password.isEmpty ? nil : url.password
            case .host: url.host.flatMap { $0.isEmpty ? nil : $0 }
            case .path: url.path
            case .query: url.query
            case .fragment: url.fragment
            case .rest: url.schemeSpecificPart
            case .port: nil
            }
        if part == .port { return url.port.map { .integer(Int128($0)) } ?? .null }
        guard let text else { return .null }
        return .text(isDecoded ? PercentEncoding.decodedBytes(text) : Array(text.utf8))
    }

    func holds(_ condition: Condition, _ value: Value) -> Bool {
        switch condition.test {
        case .oneOf(let constants): constants.contains { Self.isSame($0, value) }
        case .noneOf(let constants): !constants.contains { Self.isSame($0, value) }
        case .atLeast(let bound): holds(.atLeast(bound), value)
        case .atMost(let bound): holds(.atMost(bound), value)
        case .isNull(let isNull): (value == .null) == isNull
        }
    }

    private static func isSame(_ constant: Expression, _ value: Value) -> Bool {
        switch (constant, value) {
        case (.integer(let a), .integer(let b)): a == b
        case (.boolean(let a), .boolean(let b)): a == b
        case (.real(let a), .real(let b)): a == b
        case (.integer(let a), .real(let b)): Double(a) == b
        case (.text(let a), .text(let b)): a.utf8.elementsEqual(b)
        default: false
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
