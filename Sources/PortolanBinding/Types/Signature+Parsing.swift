// SPDX-License-Identifier: Apache-2.0

extension Signature {
    /// Parses `RESULT (PARAMETER, …)`. The grammar is in bindings.md.
    init(parsing text: String, as role: Role) throws(BindingError) {
        guard text.utf8.count <= Self.textLimit else {
            throw BindingError("is a signature of over \(Self.textLimit) bytes, which is the limit")
        }
        var parser = SignatureParser(text, role)
        self = try parser.parse()
    }
}

extension Parameter {
    /// Parses one parameter, as the only one of a signature. Returns `nil` if the text is another number of parameters.
    init?(parsing text: String) throws(BindingError) {
        let signature = try Signature(parsing: "void (\(text))", as: .function)
        guard signature.parameters.count == 1, !signature.isVariadic else { return nil }
        self = signature.parameters[0]
    }
}

/// Reads a signature from left to right, and then resolves the length parameters.
private struct SignatureParser {
    private var scanner: SignatureScanner
    private let role: Signature.Role
    private var parameters: [Parameter] = []

    /// A parameter whose length parameters are known only by name.
    private struct ParsedParameter {
        enum Form {
            /// A parameter without length parameters.
            case whole(Parameter.Kind)
            case bytes, outBytes, buffer
        }
        let form: Form
        var name: String?
        var lengthNames: [String] = []
        var filledBy: String?
    }

    init(_ text: String, _ role: Signature.Role) {
        scanner = SignatureScanner(text)
        self.role = role
    }

    private func error(_ message: String) -> BindingError {
        BindingError("is not a signature: \(message) (in its column \(scanner.column))")
    }

    private mutating func expect(_ token: String) throws(BindingError) {
        guard scanner.skip(token) else { throw error("'\(token)' is needed, not \(scanner.next.map { "'\($0)'" } ?? "the end")") }
    }

    private mutating func parseName(of subject: String) throws(BindingError) -> String {
        guard let name = scanner.next, SignatureScanner.isIdentifier(name) else { throw error("the name of \(subject) is needed") }
        _ = scanner.popNext()
        return name
    }

    mutating func parse() throws(BindingError) -> Signature {
        let resultType = try parseResultType()
        let freedBy = try parseFreeingFunction()
        try expect("(")
        var (parsedParameters, isVariadic) = ([ParsedParameter](), false)
        while !scanner.skip(")") {
            if !parsedParameters.isEmpty { try expect(",") }
            guard parsedParameters.count < Signature.parameterLimit else {
                throw error("it has over \(Signature.parameterLimit) parameters")
            }
            if scanner.skip("...") {
                guard role == .function, !parsedParameters.isEmpty else {
                    throw error("'...' is only for a function's signature, after at least one parameter")
                }
                isVariadic = true
                try expect(")")
                break
            }
            parsedParameters.append(try parseParameter())
        }
        guard scanner.next == nil else { throw error("'\(scanner.next ?? "")' follows its end") }
        var parameters = try resolve(parsedParameters)
        let result: Signature.ReturnType
        switch resultType {
        case .void where freedBy == nil: result = .void
        case .value(.scalar(let scalar)) where freedBy == nil: result = .value(.scalar(scalar), freedBy: nil)
        case .value(.pointer(let handle, let isOptional)) where freedBy == nil && role == .function:
            result = .value(.pointer(handle, isOptional: isOptional), freedBy: nil)
        case .value(.text(let isOptional)) where role == .function: result = .value(.text(isOptional: isOptional), freedBy: freedBy)
        case .bytes(let length) where role == .function:
            let index = try indexes([length], in: parsedParameters, isOut: true)[0]
            guard !parameters[index].isLength else { throw lengthUsedTwice(length) }
            parameters[index].isLength = true
            result = .bytes(length: index, freedBy: freedBy)
        default:
            throw error(
                role == .callback
                    ? "a callback returns void or a number"
                    : "only a cstring and bytes are 'freed by' a function; a handle "
                        + "needs a cleanup")
        }
        let isCount = if case .value(.scalar(let scalar), _) = result { scalar.isInteger } else { false }
        guard isCount || !parsedParameters.contains(where: { $0.filledBy == "result" }) else {
            throw error("the result is the number of filled bytes, so it must be an integer")
        }
        return Signature(result: result, parameters: parameters, isVariadic: isVariadic)
    }

    /// Parses `freed by FUNCTION`; `nil` if it is not there.
    private mutating func parseFreeingFunction() throws(BindingError) -> String? {
        guard scanner.skip("freed") else { return nil }
        try expect("by")
        return try parseName(of: "the function that frees it")
    }

    private enum ResultType {
        case void
        case value(CType)
        case bytes(String)
    }

    private mutating func parseResultType() throws(BindingError) -> ResultType {
        if scanner.skip("void") { return .void }
        guard scanner.skip("bytes") else { return .value(try parseType()) }
        try expect("[")
        let length = try parseName(of: "the parameter for the length")
        try expect("]")
        return .bytes(length)
    }

    private mutating func parseType() throws(BindingError) -> CType {
        guard let word = scanner.next, SignatureScanner.isIdentifier(word) else { throw error("a type is needed") }
        if let scalar = ScalarType(rawValue: word) {
            _ = scanner.popNext()
            return .scalar(scalar)
        }
        guard
            word == "cstring" || word == "pointer" || word.utf8.first.map({ (UInt8(ascii: "A")...UInt8(ascii: "Z")).contains($0) }) == true
        else {
            let typeNames = ScalarType.allCases.map(\.rawValue).joined(separator: ", ")
            throw error(
                "'\(word)' is not a type; there are \(typeNames), cstring, pointer, and handles, whose names begin with a capital letter")
        }
        _ = scanner.popNext()
        let isOptional = scanner.skip("?")
        return word == "cstring" ? .text(isOptional: isOptional) : .pointer(word == "pointer" ? nil : word, isOptional: isOptional)
    }

    private mutating func parseParameter() throws(BindingError) -> ParsedParameter {
        if scanner.skip("user") { return ParsedParameter(form: .whole(.userData)) }
        if scanner.skip("callback") {
            guard role == .function else { throw error("a callback can't have a callback as a parameter") }
            return ParsedParameter(form: .whole(.callback(try parseName(of: "the callback"))))
        }
        let isOut = scanner.skip("out")
        if isOut, role == .callback { throw error("a callback can't have an 'out' parameter; it can fill a 'buffer'") }
        if scanner.skip("bytes") { return try parseLength(of: ParsedParameter(form: isOut ? .outBytes : .bytes)) }
        if !isOut, scanner.skip("buffer") {
            var parameter = try parseLength(of: ParsedParameter(form: .buffer))
            if scanner.skip("filled") {
                try expect("by")
                parameter.filledBy = try parseName(of: "the number of filled bytes")
            }
            guard (parameter.filledBy == nil) == (role == .callback) else {
                throw error("a function's buffer needs 'filled by' with result or a parameter; a callback's buffer has none")
            }
            return parameter
        }
        let type = try parseType()
        let canBeFreed = if case .text = type { isOut } else { false }
        let hasName = scanner.next.map(SignatureScanner.isIdentifier) == true && !(canBeFreed && scanner.next == "freed")
        let name = hasName ? scanner.popNext() : nil
        guard isOut else { return ParsedParameter(form: .whole(.value(type)), name: name) }
        let freedBy = canBeFreed ? try parseFreeingFunction() : nil
        return ParsedParameter(form: .whole(.outParameter(type, freedBy: freedBy)), name: name)
    }

    private mutating func parseLength(of parameter: ParsedParameter) throws(BindingError) -> ParsedParameter {
        var parameter = parameter
        parameter.name = try parseName(of: "the bytes")
        try expect("[")
        repeat { parameter.lengthNames.append(try parseName(of: "the parameter with their length")) } while scanner.skip("*")
        try expect("]")
        guard parameter.lengthNames.count == 1 || role == .callback else { throw error("only a callback's length can be a product") }
        guard parameter.lengthNames.count <= 4 else { throw error("a product has at most four factors") }
        return parameter
    }

    // MARK: Length parameters

    private func resolve(_ parsedParameters: [ParsedParameter]) throws(BindingError) -> [Parameter] {
        for (index, parameter) in parsedParameters.enumerated() {
            if let name = parameter.name, parsedParameters[..<index].contains(where: { $0.name == name }) {
                throw error("two parameters are called '\(name)'")
            }
        }
        let userDataCount = parsedParameters.count { if case .whole(.userData) = $0.form { true } else { false } }
        guard userDataCount <= 1 || role == .function else { throw error("it has 'user' twice") }
        var (resolved, lengthIndexes) = ([Parameter](), [Int]())
        for parameter in parsedParameters {
            let kind: Parameter.Kind
            switch parameter.form {
            case .whole(let whole): kind = whole
            case .bytes: kind = .bytes(length: try indexes(parameter.lengthNames, in: parsedParameters, isOut: false))
            case .outBytes: kind = .outBytes(length: try indexes(parameter.lengthNames, in: parsedParameters, isOut: true)[0])
            case .buffer:
                let filled: Parameter.FilledLength
                switch parameter.filledBy {
                case nil: filled = .host
                case "result"?: filled = .result
                case let name?: filled = .parameter(try indexes([name], in: parsedParameters, isOut: true)[0])
                }
                if case .parameter(let index) = filled { lengthIndexes.append(index) }
                kind = .buffer(capacity: try indexes(parameter.lengthNames, in: parsedParameters, isOut: false), filledBy: filled)
            }
            switch kind {
            case .bytes(let length), .buffer(let length, _): lengthIndexes += length
            case .outBytes(let length): lengthIndexes.append(length)
            default: break
            }
            resolved.append(Parameter(kind: kind, name: parameter.name))
        }
        for index in lengthIndexes {
            // A call passes one value for each length. In a callback, the library sets the lengths, so two parameters
            // can share one.
            guard role == .callback || !resolved[index].isLength else { throw lengthUsedTwice(resolved[index].name ?? "") }
            resolved[index].isLength = true
        }
        return resolved
    }

    private func lengthUsedTwice(_ name: String) -> BindingError {
        error("'\(name)' is the length of two parameters; give each of them a length parameter")
    }

    /// Returns the indexes of the integer parameters with these names.
    private func indexes(_ names: [String], in parsedParameters: [ParsedParameter], isOut: Bool) throws(BindingError) -> [Int] {
        var indexes: [Int] = []
        for name in names {
            guard let index = parsedParameters.firstIndex(where: { $0.name == name }) else {
                throw error("no parameter is called '\(name)'")
            }
            switch parsedParameters[index].form {
            case .whole(.value(.scalar(let scalar))) where scalar.isInteger && !isOut: indexes.append(index)
            case .whole(.outParameter(.scalar(let scalar), _)) where scalar.isInteger && isOut: indexes.append(index)
            default: throw error("the parameter '\(name)' is a length, so it must be an integer\(isOut ? " after 'out'" : "")")
            }
        }
        return indexes
    }
}
