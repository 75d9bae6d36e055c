// SPDX-License-Identifier: Apache-2.0

import PortolanBinding
import PortolanJSON

/// Parses a manifest's `binding`. `BindingProgram` checks the calls and values.
extension BindingSource {
    static let names = ["library", "functions", "structs", "callbacks", "setup", "steps", "error", "stop"]

    init(_ value: JSONValue) throws(ManifestProblem) {
        let object = try ManifestObject(value, names: Self.names)
        self.init()
        isSystemLibrary =
            try object.optional("library") { value throws(ManifestProblem) in
                let location = try value.text("which is neither 'system' nor 'folder'") { $0 == "system" || $0 == "folder" }
                return location == "system"
            } ?? false
        functions = try object.required("functions") { value throws(ManifestProblem) in
            try ManifestObject(value, names: nil).map { name, value throws(ManifestProblem) in NamedValue(name, try value.text()) }
        }
        structs =
            try object.optional("structs") { value throws(ManifestProblem) in
                try ManifestObject(value, names: nil).map { name, value throws(ManifestProblem) in
                    let fields = try ManifestObject(value, names: nil).map { name, value throws(ManifestProblem) in
                        NamedValue(name, try StructFieldSource(value))
                    }
                    return NamedValue(name, fields)
                }
            } ?? []
        callbacks =
            try object.optional("callbacks") { value throws(ManifestProblem) in
                try ManifestObject(value, names: nil).map { name, value throws(ManifestProblem) in
                    NamedValue(name, try CallbackSource(value))
                }
            } ?? []
        let step = { (value: JSONValue) throws(ManifestProblem) in try StepSource(value) }
        setup = try object.optional("setup") { value throws(ManifestProblem) in try value.list(1...128, step) } ?? []
        steps = try object.required("steps") { value throws(ManifestProblem) in try value.list(1...128, step) }
        error = try object.optional("error") { value throws(ManifestProblem) in try ErrorSource(value) }
        stop = try object.optional("stop") { value throws(ManifestProblem) in try StopSource(value) }
    }
}

extension StructFieldSource {
    fileprivate init(_ value: JSONValue) throws(ManifestProblem) {
        let object = try ManifestObject(value, names: ["offset", "type"])
        let offset = try object.required("offset") { value throws(ManifestProblem) in
            guard case .number(let text) = value else { throw ManifestProblem("is not a number") }
            return text
        }
        self.init(offset: offset, type: try object.required("type") { value throws(ManifestProblem) in try value.text() })
    }
}

extension CallbackSource {
    fileprivate init(_ value: JSONValue) throws(ManifestProblem) {
        let object = try ManifestObject(value, names: ["signature", "deliver", "fill", "returns", "stopped"])
        self.init()
        signature = try object.required("signature") { value throws(ManifestProblem) in try value.text() }
        deliver = try object.optional("deliver") { value throws(ManifestProblem) in try value.text() }
        fill = try object.optional("fill") { value throws(ManifestProblem) in try value.text() }
        returns = try object.optional("returns") { value throws(ManifestProblem) in try ArgumentSource(value) }
        stopped = try object.optional("stopped") { value throws(ManifestProblem) in try ArgumentSource(value) }
    }
}

extension ArgumentSource {
    /// - Parameter isTyped: whether `{"TYPE": value}` is allowed.
    fileprivate init(_ value: JSONValue, isTyped: Bool = false) throws(ManifestProblem) {
        switch value {
        case .null: self = .null
        case .bool(let boolean): self = .boolean(boolean)
        case .number(let text): self = .number(text)
        case .string(let text): self = .text(text)
        case .object(let members):
            guard isTyped, members.count == 1, let member = members.first else {
                throw ManifestProblem(
                    "is an object, where \(isTyped ? "an object with one member, {\"TYPE\": value}," : "a value") is needed")
            }
            if case .object = member.value {
                self = try prependingStep(.member(member.name)) { () throws(ManifestProblem) in
                    let object = try ManifestObject(member.value, names: ["size", "atMost"])
                    return .sized(
                        member.name, try object.required("size") { value throws(ManifestProblem) in try ArgumentSource(value) },
                        limit: try object.required("atMost") { value throws(ManifestProblem) in try ArgumentSource(value) })
                }
                return
            }
            self = .typed(
                member.name, try prependingStep(.member(member.name)) { () throws(ManifestProblem) in try ArgumentSource(member.value) })
        case .array: throw ManifestProblem("is an array, where a value is needed")
        }
    }
}

extension CallSource {
    fileprivate init(_ object: ManifestObject) throws(ManifestProblem) {
        self.init(
            try object.required("call") { value throws(ManifestProblem) in try value.text() },
            try object.optional("with") { value throws(ManifestProblem) in
                try value.list(0...32) { value throws(ManifestProblem) in try ArgumentSource(value, isTyped: true) }
            } ?? [])
    }

    fileprivate init(_ value: JSONValue) throws(ManifestProblem) {
        try self.init(ManifestObject(value, names: ["call", "with"]))
    }
}

extension ConditionSource {
    fileprivate static let relations = Relation.allCases.map(\.rawValue)

    fileprivate init(_ object: ManifestObject) throws(ManifestProblem) {
        let members = object.members.filter { Relation(rawValue: $0.name) != nil }
        guard members.count == 1, let member = members.first, let relation = Relation(rawValue: member.name) else {
            throw ManifestProblem("needs one of \(Self.relations.joined(separator: ", "))")
        }
        let operands = try prependingStep(.member(member.name)) { () throws(ManifestProblem) -> [ArgumentSource] in
            guard relation == .oneOf else { return [try ArgumentSource(member.value)] }
            return try member.value.list(1...64) { value throws(ManifestProblem) in try ArgumentSource(value) }
        }
        self.init(relation, operands)
    }

    fileprivate init(_ value: JSONValue) throws(ManifestProblem) {
        try self.init(ManifestObject(value, names: Self.relations))
    }
}

extension GuardSource {
    fileprivate init(_ value: JSONValue) throws(ManifestProblem) {
        let object = try ManifestObject(value, names: ["value"] + ConditionSource.relations)
        self.init(try object.required("value") { value throws(ManifestProblem) in try value.text() }, try ConditionSource(object))
    }
}

extension StepSource {
    private static let commonNames = ["when", "error"]
    private static let callNames = ["call", "with", "result", "check", "until", "deliver", "cleanup"]

    private static func steps(_ value: JSONValue) throws(ManifestProblem) -> [StepSource] {
        try value.list(1...128) { value throws(ManifestProblem) in try StepSource(value) }
    }

    fileprivate init(_ value: JSONValue) throws(ManifestProblem) {
        let stepObject = try ManifestObject(
            value, names: Self.commonNames + Self.callNames + ["respond", "require", "loop", "index", "break", "steps"])
        let names: [String]
        if stepObject["call"] != nil {
            names = Self.callNames
            self.init(.call(try CallSource(stepObject)))
        } else if let response = try stepObject.optional("respond", ResponseSource.init(reading:)) {
            names = ["respond"]
            self.init(.respond(response))
        } else if let requirement = try stepObject.optional("require", GuardSource.init(reading:)) {
            names = ["require"]
            self.init(.require(requirement))
        } else if let condition = try stepObject.optional("break", GuardSource.init(reading:)) {
            names = ["break"]
            self.init(.break(condition))
        } else if let steps = try stepObject.optional("steps", Self.steps) {
            names = ["steps"]
            self.init(.steps(steps))
        } else if let steps = try stepObject.optional("loop", Self.steps) {
            names = ["loop", "index"]
            self.init(.loop(steps, index: try stepObject.optional("index") { value throws(ManifestProblem) in try value.text() }))
        } else {
            names = ["deliver"]
            guard stepObject["deliver"] != nil else {
                throw ManifestProblem("does nothing; it needs one of call, respond, deliver, require, steps, loop and break")
            }
            self.init(.deliver(try stepObject.required("deliver") { value throws(ManifestProblem) in try value.text() }))
        }
        let object = try ManifestObject(value, names: Self.commonNames + names)
        when = try object.optional("when", GuardSource.init(reading:))
        error = try object.optional("error") { value throws(ManifestProblem) in try ErrorSource(value) }
        guard case .call = action else { return }
        result = try object.optional("result") { value throws(ManifestProblem) in try value.text() }
        check = try object.optional("check") { value throws(ManifestProblem) in try ConditionSource(value) }
        until = try object.optional("until") { value throws(ManifestProblem) in try ConditionSource(value) }
        deliver = try object.optional("deliver") { value throws(ManifestProblem) in try value.text() }
        guard let cleanupObject = try object.optional("cleanup", ManifestObject.init(reading:)) else { return }
        cleanup = try prependingStep(.member("cleanup")) { () throws(ManifestProblem) in try CallSource(cleanupObject) }
        cleansUpAfterFailure =
            try prependingStep(.member("cleanup")) { () throws(ManifestProblem) in
                try cleanupObject.optional("afterFailure") { value throws(ManifestProblem) in try value.boolean() }
            } ?? false
    }
}

extension ManifestObject {
    /// The object of a cleanup.
    fileprivate init(reading value: JSONValue) throws(ManifestProblem) {
        try self.init(value, names: ["call", "with", "afterFailure"])
    }
}

extension GuardSource {
    fileprivate init(reading value: JSONValue) throws(ManifestProblem) { try self.init(value) }
}

extension ResponseSource {
    fileprivate init(reading value: JSONValue) throws(ManifestProblem) {
        let object = try ManifestObject(value, names: ["status", "mime", "length", "textEncoding", "filename"])
        let argument = { (value: JSONValue) throws(ManifestProblem) in try ArgumentSource(value) }
        self.init()
        status = try object.optional("status", argument)
        mimeType = try object.optional("mime", argument)
        length = try object.optional("length", argument)
        textEncoding = try object.optional("textEncoding", argument)
        filename = try object.optional("filename", argument)
    }
}

extension ErrorSource {
    fileprivate init(_ value: JSONValue) throws(ManifestProblem) {
        let object = try ManifestObject(value, names: ["code", "codes", "message", "text"])
        self.init()
        code = try object.optional("code") { value throws(ManifestProblem) in try value.text() }
        codes =
            try object.optional("codes") { value throws(ManifestProblem) in
                let object = try ManifestObject(value, names: nil)
                guard object.members.count <= 256 else { throw ManifestProblem("has over 256 members") }
                return try object.map { name, value throws(ManifestProblem) in NamedValue(name, try value.text()) }
            } ?? []
        message = try object.optional("message") { value throws(ManifestProblem) in try value.text() }
        text = try object.optional("text") { value throws(ManifestProblem) in try CallSource(value) }
    }
}

extension StopSource {
    fileprivate init(_ value: JSONValue) throws(ManifestProblem) {
        switch value {
        case .string("callback"): self = .callback
        case .string("step"): self = .step
        case .object: self = .function(try CallSource(value))
        default: throw ManifestProblem("is neither 'callback' nor 'step' nor a call")
        }
    }
}
