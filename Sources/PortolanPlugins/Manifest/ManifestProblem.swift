// SPDX-License-Identifier: Apache-2.0

import PortolanCore
import PortolanJSON

/// A mistake in a manifest: where it is, what is wrong, and how to fix it.
struct ManifestProblem: Error {
    /// The path of the value. After an error, each enclosing check prepends a step to the path. So valid values cost no
    /// time.
    private(set) var path = JSONPath()
    /// What is wrong and how to fix it, on one line.
    let detail: String
    /// The violated rule. `nil` for the rule of the whole document.
    let rule: ContractRule?

    init(_ detail: String, at path: JSONPath = JSONPath(), rule: ContractRule? = nil) {
        (self.detail, self.rule) = (detail, rule)
        self.path = path
    }

    fileprivate func prependingStep(_ step: JSONPath.Step) -> Self {
        var problem = self
        problem.path = path.inside(step)
        return problem
    }
}

extension ManifestProblem {
    /// Parses a JSON5 document. Reports a problem with its line and column.
    static func parse<Value>(
        _ bytes: [UInt8], path: String, _ rule: ContractRule?, omitting omittedName: String? = nil,
        _ read: (JSONValue) throws(ManifestProblem) -> Value
    ) throws(PluginProblem) -> Value {
        guard bytes.count <= PluginManifest.sizeLimit else {
            throw PluginProblem(path, rule, "it has over \(PluginManifest.sizeLimit) bytes, which is the limit")
        }
        let value: JSONValue
        do throws(JSONError) {
            value = try JSONParser.parse(bytes, .json5, omitting: omittedName)
        } catch {
            throw PluginProblem(path, rule, error.problem.rawValue, at: JSONPosition(of: error.offset, in: bytes))
        }
        do throws(ManifestProblem) {
            return try read(value)
        } catch {
            let position = error.path.nearestPosition(in: bytes)
            let subject = error.path.steps.isEmpty || error.path.isName ? "" : "'\(error.path)' "
            throw PluginProblem(path, error.rule ?? rule, "\(subject)\(error.detail)", at: position)
        }
    }
}

extension JSONPath {
    /// Returns the start of the value at this path. If there is no such value, returns the start of the nearest
    /// enclosing value.
    func nearestPosition(in bytes: [UInt8]) -> JSONPosition? {
        var path = self
        while true {
            if let offset = path.offset(in: bytes, .json5) { return JSONPosition(of: offset, in: bytes) }
            guard !path.steps.isEmpty else { return nil }
            path = JSONPath(path.steps.dropLast())
        }
    }
}

/// Runs `check` for the value at `step`. If `check` throws a problem, prepends `step` to the path of the problem.
func prependingStep<Value>(
    _ step: JSONPath.Step, toErrorsOf check: () throws(ManifestProblem) -> Value
) throws(ManifestProblem) -> Value {
    do throws(ManifestProblem) {
        return try check()
    } catch {
        throw error.prependingStep(step)
    }
}

/// An object in a manifest with known member names.
struct ManifestObject {
    let members: [JSONValue.Member]

    /// - Parameter names: the allowed names. `nil` allows every name.
    init(_ value: JSONValue, names: [String]?) throws(ManifestProblem) {
        guard case .object(let members) = value else { throw ManifestProblem("is \(value.kind), where an object is needed") }
        self.members = members
        guard let names else { return }
        for member in members where !names.contains(where: { member.isNamed($0) }) {
            let visibleName = Text.oneLine(member.name, limit: 80)
            let hint =
                NameSuggestion.closest(to: member.name, among: names).map { "did you mean '\($0)'?" }
                ?? (names.isEmpty ? "" : "known are \(names.joined(separator: ", "))")
            throw ManifestProblem("'\(visibleName)' is not a known name here; \(hint)", at: JSONPath()[member.name].name)
        }
    }

    subscript(name: String) -> JSONValue? {
        members.first { $0.isNamed(name) }?.value
    }

    func optional<Value>(
        _ name: String, _ read: (JSONValue) throws(ManifestProblem) -> Value
    ) throws(ManifestProblem) -> Value? {
        guard let value = self[name] else { return nil }
        return try prependingStep(.member(name)) { () throws(ManifestProblem) in try read(value) }
    }

    func map<Value>(_ read: (String, JSONValue) throws(ManifestProblem) -> Value) throws(ManifestProblem) -> [Value] {
        var values: [Value] = []
        for member in members {
            values.append(try prependingStep(.member(member.name)) { () throws(ManifestProblem) in try read(member.name, member.value) })
        }
        return values
    }

    func required<Value>(
        _ name: String, _ read: (JSONValue) throws(ManifestProblem) -> Value
    ) throws(ManifestProblem) -> Value {
        guard let value = try optional(name, read) else { throw ManifestProblem("'\(name)' is missing") }
        return value
    }
}

/// Checks of values and their limits.
extension JSONValue {
    /// The kind of the value, for messages.
    var kind: String {
        switch self {
        case .null: "null"
        case .bool: "true or false"
        case .number: "a number"
        case .string: "a string"
        case .array: "an array"
        case .object: "an object"
        }
    }

    /// Returns a line of text for people: 1 to 1024 bytes without control characters.
    func line() throws(ManifestProblem) -> String {
        let text = try text()
        guard !text.isEmpty, text.utf8.count <= 1024, !text.unicodeScalars.contains(where: Text.isBreaking) else {
            throw ManifestProblem("has to be one line of 1 to 1024 bytes")
        }
        return text
    }

    func text() throws(ManifestProblem) -> String {
        guard case .string(let text) = self else { throw ManifestProblem("is \(kind), where a string is needed") }
        return text
    }

    /// Returns a string for which `isValid` is true.
    ///
    /// - Parameter problem: the end of the message for an invalid string.
    func text(_ problem: String, where isValid: (String) -> Bool) throws(ManifestProblem) -> String {
        let text = try text()
        guard isValid(text) else { throw ManifestProblem("is '\(Text.oneLine(text, limit: 120))', \(problem)") }
        return text
    }

    func boolean() throws(ManifestProblem) -> Bool {
        guard case .bool(let boolean) = self else { throw ManifestProblem("is \(kind), where true or false is needed") }
        return boolean
    }

    func integer(_ range: ClosedRange<Int64> = Int64.min...Int64.max) throws(ManifestProblem) -> Int64 {
        guard case .number(let text) = self else { throw ManifestProblem("is \(kind), where an integer is needed") }
        guard let number = Int64(text), range.contains(number) else {
            throw ManifestProblem(
                "is \(Text.oneLine(text, limit: 40)), where an integer from \(range.lowerBound) to \(range.upperBound) is needed")
        }
        return number
    }

    func real() throws(ManifestProblem) -> Double {
        guard case .number(let text) = self else { throw ManifestProblem("is \(kind), where a number is needed") }
        guard let number = Double(text), number.isFinite else {
            throw ManifestProblem("is \(Text.oneLine(text, limit: 40)), which is not a finite double")
        }
        return number
    }

    /// - Parameter phrase: the expected value, for messages.
    func scalar(_ phrase: String) throws(ManifestProblem) -> PropertyValue {
        if let scalar = PropertyValue(self) { return scalar }
        // `PropertyValue` rejects some numbers. `real()` then reports the reason.
        if case .number = self { _ = try real() }
        throw ManifestProblem("is \(kind), where \(phrase) is needed")
    }

    func list<Value>(
        _ counts: ClosedRange<Int>, _ read: (JSONValue) throws(ManifestProblem) -> Value
    ) throws(ManifestProblem) -> [Value] {
        guard case .array(let elements) = self else { throw ManifestProblem("is \(kind), where an array is needed") }
        guard counts.contains(elements.count) else {
            throw ManifestProblem("has \(elements.count) elements, where \(counts.lowerBound) to \(counts.upperBound) are allowed")
        }
        var values: [Value] = []
        values.reserveCapacity(elements.count)
        for (index, element) in elements.enumerated() {
            values.append(try prependingStep(.element(index)) { () throws(ManifestProblem) in try read(element) })
        }
        return values
    }
}
