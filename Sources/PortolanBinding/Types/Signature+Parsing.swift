// SPDX-License-Identifier: Apache-2.0

extension Signature {
    /// Parses `RESULT (PARAMETER, …)`; bindings.md has the grammar.
    init(parsing text: String, as role: Role) throws(BindingProblem) {
        guard text.utf8.count <= Self.textLimit else {
            throw BindingProblem("is a signature of over \(Self.textLimit) bytes, which is the limit")
        }
        var parser = SignatureParser(text, role)
        self = try parser.signature()
    }
}

/// Reads a signature from left to right, and then resolves the length parameters.
private struct SignatureParser {
    private var scanner: SignatureScanner
    private let role: Signature.Role
    private var parameters: [Parameter] = []

    /// A parameter whose length parameters are not resolved yet.
    private struct Draft {
        enum Form {
            case whole(Parameter.Kind)
            case bytes, outBytes, buffer
        }
        let form: Form
        var name: String?
        var measures: [String] = []
        var filledBy: String?
    }

    init(_ text: String, _ role: Signature.Role) {
        scanner = SignatureScanner(text)
        self.role = role
    }

    private func problem(_ detail: String) -> BindingProblem {
        BindingProblem("is not a signature: \(detail) (in its column \(scanner.column))")
    }

    private mutating func expect(_ token: String) throws(BindingProblem) {
        guard scanner.skip(token) else { throw problem("'\(token)' is needed, not \(scanner.next.map { "'\($0)'" } ?? "the end")") }
    }

    private mutating func name(_ what: String) throws(BindingProblem) -> String {
        guard let name = scanner.next, SignatureScanner.isIdentifier(name) else { throw problem("the name of \(what) is needed") }
        _ = scanner.take()
        return name
    }

    mutating func signature() throws(BindingProblem) -> Signature {
        let head = try head()
        var freedBy: String?
        if scanner.skip("freed") {
            try expect("by")
            freedBy = try name("the function that frees it")
        }
        try expect("(")
        var (drafts, isVariadic) = ([Draft](), false)
        while !scanner.skip(")") {
            if !drafts.isEmpty { try expect(",") }
            guard drafts.count < Signature.parameterLimit else { throw problem("it has over \(Signature.parameterLimit) parameters") }
            if scanner.skip("...") {
                guard role == .function, !drafts.isEmpty else {
                    throw problem("'...' is only for a function's signature, after at least one parameter")
                }
                isVariadic = true
                try expect(")")
                break
            }
            drafts.append(try draft())
        }
        guard scanner.next == nil else { throw problem("'\(scanner.next ?? "")' follows its end") }
        var parameters = try resolve(drafts)
        let result: Signature.ReturnType
        switch head {
        case .void where freedBy == nil: result = .void
        case .value(.scalar(let scalar)) where freedBy == nil: result = .value(.scalar(scalar), freedBy: nil)
        case .value(.pointer(let handle, let isOptional)) where freedBy == nil && role == .function:
            result = .value(.pointer(handle, isOptional: isOptional), freedBy: nil)
        case .value(.text(let isOptional)) where role == .function: result = .value(.text(isOptional: isOptional), freedBy: freedBy)
        case .bytes(let length) where role == .function:
            let index = try indexes([length], in: drafts, isOut: true)[0]
            guard !parameters[index].isMeasure else { throw measuresTwice(length) }
            parameters[index].isMeasure = true
            result = .bytes(length: index, freedBy: freedBy)
        default:
            throw problem(
                role == .callback
                    ? "a callback returns void or a number"
                    : "only a cstring and bytes are 'freed by' a function; a handle "
                        + "needs a cleanup")
        }
        let isCount = if case .value(.scalar(let scalar), _) = result { scalar.isInteger } else { false }
        guard isCount || !drafts.contains(where: { $0.filledBy == "result" }) else {
            throw problem("the result is the number of filled bytes, so it must be an integer")
        }
        return Signature(result: result, parameters: parameters, isVariadic: isVariadic)
    }

    private enum Head {
        case void
        case value(CType)
        case bytes(String)
    }

    private mutating func head() throws(BindingProblem) -> Head {
        if scanner.skip("void") { return .void }
        guard scanner.skip("bytes") else { return .value(try type()) }
        try expect("[")
        let length = try name("the parameter for the length")
        try expect("]")
        return .bytes(length)
    }

    private mutating func type() throws(BindingProblem) -> CType {
        guard let word = scanner.next, SignatureScanner.isIdentifier(word) else { throw problem("a type is needed") }
        if let scalar = ScalarType(rawValue: word) {
            _ = scanner.take()
            return .scalar(scalar)
        }
        guard
            word == "cstring" || word == "pointer" || word.utf8.first.map({ (UInt8(ascii: "A")...UInt8(ascii: "Z")).contains($0) }) == true
        else {
            let known = ScalarType.allCases.map(\.rawValue).joined(separator: ", ")
            throw problem(
                "'\(word)' is not a type; there are \(known), cstring, pointer, and handles, whose names begin with a capital letter")
        }
        _ = scanner.take()
        let isOptional = scanner.skip("?")
        return word == "cstring" ? .text(isOptional: isOptional) : .pointer(word == "pointer" ? nil : word, isOptional: isOptional)
    }

    private mutating func draft() throws(BindingProblem) -> Draft {
        if scanner.skip("user") { return Draft(form: .whole(.user)) }
        if scanner.skip("callback") {
            guard role == .function else { throw problem("a callback can't have a callback as a parameter") }
            return Draft(form: .whole(.callback(try name("the callback"))))
        }
        let isOut = scanner.skip("out")
        if isOut, role == .callback { throw problem("a callback can't have an 'out' parameter; it can fill a 'buffer'") }
        if scanner.skip("bytes") { return try measured(Draft(form: isOut ? .outBytes : .bytes)) }
        if !isOut, scanner.skip("buffer") {
            var draft = try measured(Draft(form: .buffer))
            if scanner.skip("filled") {
                try expect("by")
                draft.filledBy = try name("the number of filled bytes")
            }
            guard (draft.filledBy == nil) == (role == .callback) else {
                throw problem("a function's buffer needs 'filled by' with result or a parameter; a callback's buffer has none")
            }
            return draft
        }
        let type = try type()
        let name = scanner.next.map(SignatureScanner.isIdentifier) == true ? scanner.take() : nil
        return Draft(form: .whole(isOut ? .out(type) : .value(type)), name: name)
    }

    private mutating func measured(_ draft: Draft) throws(BindingProblem) -> Draft {
        var draft = draft
        draft.name = try name("the bytes")
        try expect("[")
        repeat { draft.measures.append(try name("the parameter with their length")) } while scanner.skip("*")
        try expect("]")
        guard draft.measures.count == 1 || role == .callback else { throw problem("only a callback's length can be a product") }
        guard draft.measures.count <= 4 else { throw problem("a product has at most four factors") }
        return draft
    }

    // MARK: Length parameters

    private func resolve(_ drafts: [Draft]) throws(BindingProblem) -> [Parameter] {
        for (index, draft) in drafts.enumerated() {
            if let name = draft.name, drafts[..<index].contains(where: { $0.name == name }) {
                throw problem("two parameters are called '\(name)'")
            }
        }
        guard drafts.count(where: { if case .whole(.user) = $0.form { true } else { false } }) <= 1 || role == .function else {
            throw problem("it has 'user' twice")
        }
        var (resolved, measures) = ([Parameter](), [Int]())
        for draft in drafts {
            let kind: Parameter.Kind
            switch draft.form {
            case .whole(let whole): kind = whole
            case .bytes: kind = .bytes(length: try indexes(draft.measures, in: drafts, isOut: false))
            case .outBytes: kind = .outBytes(length: try indexes(draft.measures, in: drafts, isOut: true)[0])
            case .buffer:
                let filled: Parameter.Filled
                switch draft.filledBy {
                case nil: filled = .host
                case "result"?: filled = .result
                case let name?: filled = .parameter(try indexes([name], in: drafts, isOut: true)[0])
                }
                if case .parameter(let index) = filled { measures.append(index) }
                kind = .buffer(capacity: try indexes(draft.measures, in: drafts, isOut: false), filledBy: filled)
            }
            switch kind {
            case .bytes(let length), .buffer(let length, _): measures += length
            case .outBytes(let length): measures.append(length)
            default: break
            }
            resolved.append(Parameter(kind: kind, name: draft.name))
        }
        for index in measures {
            // A call passes one value for a length. A callback's lengths come from the library, so they may be shared.
            guard role == .callback || !resolved[index].isMeasure else { throw measuresTwice(resolved[index].name ?? "") }
            resolved[index].isMeasure = true
        }
        return resolved
    }

    private func measuresTwice(_ name: String) -> BindingProblem {
        problem("'\(name)' is the length of two parameters; give each its own")
    }

    /// The indexes of the integer parameters with these names.
    private func indexes(_ names: [String], in drafts: [Draft], isOut: Bool) throws(BindingProblem) -> [Int] {
        var indexes: [Int] = []
        for name in names {
            guard let index = drafts.firstIndex(where: { $0.name == name }) else { throw problem("no parameter is called '\(name)'") }
            switch drafts[index].form {
            case .whole(.value(.scalar(let scalar))) where scalar.isInteger && !isOut: indexes.append(index)
            case .whole(.out(.scalar(let scalar))) where scalar.isInteger && isOut: indexes.append(index)
            default: throw problem("the parameter '\(name)' is a length, so it must be an integer\(isOut ? " after 'out'" : "")")
            }
        }
        return indexes
    }
}
