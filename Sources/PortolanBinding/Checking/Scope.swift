// SPDX-License-Identifier: Apache-2.0

import HTTPTypes

/// The names that a value can use at one place of a program.
struct Scope {
    /// The type of each setting, by the setting's name. The type is optional if the setting can lack a value.
    let settings: [String: ValueType]
    /// The fields of each struct, by the name of the handles that point to it.
    var structs: [String: [String: StructField]] = [:]
    private(set) var variables: [String: (index: Int, type: ValueType)] = [:]
    private(set) var variableCount = 0
    /// The type of `{result}`. `nil` if there is no call whose result can be used.
    var result: ValueType?
    /// Whether there is a request. `false` during setup.
    var hasRequest = true
    private(set) var readsBody = false
    /// Whether a step before this place delivers bytes, and every load performs this step.
    private(set) var hasDelivered = false

    init(settings: [String: ValueType]) {
        self.settings = settings
    }

    /// Defines a variable with this name and type for the following steps, and returns its index.
    mutating func define(_ name: String, _ type: ValueType) throws(BindingError) -> Int {
        guard SignatureScanner.isIdentifier(name), name != "result", name != "url", name != "method", name != "body" else {
            throw BindingError("'\(name)' can't be the name of a value; use letters, digits and '_', but not url, method, body or result")
        }
        guard variables[name] == nil else { throw BindingError("'\(name)' already has a value; use another name") }
        defer { variableCount += 1 }
        variables[name] = (variableCount, type)
        return variableCount
    }

    /// Removes the variables and deliveries of the steps since `earlier`, so that later steps do not rely on them.
    mutating func removeVariables(since earlier: Scope) {
        variables = earlier.variables
        hasDelivered = earlier.hasDelivered
    }

    /// Removes the variables since `earlier`, except those in `kept`: all of them, or only those without handles and
    /// bytes.
    mutating func removeVariables(since earlier: Scope, except kept: Scope, keepsHandles: Bool) {
        variables = kept.variables.filter { name, variable in
            switch variable.type.kind {
            case .pointer, .bytes: keepsHandles || earlier.variables[name] != nil
            case .null, .integer, .real, .boolean, .text, .property: true
            }
        }
    }

    mutating func recordBodyUse() { readsBody = true }
    mutating func recordDelivery() { hasDelivered = true }

    /// Finds the value of a name in braces.
    mutating func resolve(_ name: String) throws(BindingError) -> (ValueOrigin, ValueType) {
        if let source = try resolveExactName(name) { return source }
        let lengthSuffix = ".length"
        if name.hasSuffix(lengthSuffix), let (source, type) = try resolveExactName(String(name.dropLast(lengthSuffix.count))) {
            guard type.kind == .bytes || type.kind == .text else {
                throw BindingError("'{\(name)}' is the length of \(type.phrase); only bytes and text have one")
            }
            return (.length(of: source), ValueType(.integer, isOptional: type.isOptional))
        }
        for format in TextFormat.allCases where name.hasSuffix(".\(format.rawValue)") {
            guard let (source, type) = try resolveExactName(String(name.dropLast(format.rawValue.count + 1))) else { continue }
            switch type.kind {
            case .text, .integer, .real, .boolean, .property: return (.encoded(source, format), ValueType(.text))
            case .null, .bytes, .pointer:
                throw BindingError("'{\(name)}' is \(type.phrase) as \(format.rawValue); only texts and numbers can be")
            }
        }
        if name.hasPrefix(Self.settingPrefix) {
            throw BindingError("'{\(name)}' is a setting that the manifest does not declare; add it to 'settings'")
        }
        let knownNames = hasRequest ? "url and its parts, method, field:NAME, property:NAME, setting:NAME, body" : "setting:NAME"
        let variableNames = variables.keys.sorted().prefix(20).joined(separator: ", ")
        let allNames = variableNames.isEmpty ? knownNames : "\(knownNames) and \(variableNames)"
        throw BindingError("'{\(name)}' is not a known name here; there are \(allNames)")
    }

    /// The largest number of words in `entry.next.name`.
    private static let fieldDepth = 17
    private static let settingPrefix = "setting:"

    /// Finds the value with exactly this name. Names of header fields, properties and settings can end in `.length`.
    private mutating func resolveExactName(_ name: String) throws(BindingError) -> (ValueOrigin, ValueType)? {
        if name == "result", let result { return (.result, result) }
        if let variable = variables[name] { return (.variable(variable.index), variable.type) }
        if let field = try resolveField(name) { return field }
        if name.hasPrefix(Self.settingPrefix) {
            let setting = String(name.dropFirst(Self.settingPrefix.count))
            return settings[setting].map { (.setting(setting), $0) }
        }
        return hasRequest ? try resolveRequestValue(name) : nil
    }

    /// Finds a field of a struct: `entry.name`, or `entry.next.name` if `next` is a handle.
    private func resolveField(_ name: String) throws(BindingError) -> (ValueOrigin, ValueType)? {
        let words = name.split(separator: ".", omittingEmptySubsequences: false).map(String.init)
        guard words.count > 1, let variable = variables[words[0]] else { return nil }
        guard words.count <= Self.fieldDepth else {
            throw BindingError("a name has over \(Self.fieldDepth - 1) fields, which is the limit")
        }
        var (source, type) = (ValueOrigin.variable(variable.index), variable.type)
        for word in words.dropFirst() {
            guard case .pointer(let handle?) = type.kind, let fields = structs[handle] else { return nil }
            guard let field = fields[word] else {
                let names = fields.keys.sorted().prefix(20).joined(separator: ", ")
                throw BindingError("'{\(name)}' is not a field of \(handle), whose 'structs' declares \(names)")
            }
            let isOptional = type.isOptional || field.type.isOptional
            (source, type) = (.structField(of: source, field), ValueType(field.type.kind, isOptional: isOptional))
        }
        return (source, type)
    }

    private mutating func resolveRequestValue(_ name: String) throws(BindingError) -> (ValueOrigin, ValueType)? {
        let isDecoded = name.hasSuffix(".decoded")
        if let part = ValueOrigin.URLPart(rawValue: isDecoded ? String(name.dropLast(8)) : name) {
            guard !isDecoded || ![.all, .port, .scheme, .file].contains(part) else {
                throw BindingError("'{\(name)}' has nothing to decode; use '{\(part.rawValue)}'")
            }
            return (.url(part, isDecoded: isDecoded), part.type)
        }
        switch name {
        case "method": return (.method, ValueType(.text))
        case "body":
            readsBody = true
            return (.body, ValueType(.bytes))
        case _ where name.hasPrefix("field:"):
            let field = String(name.dropFirst(6))
            guard HTTPField.Name(field) != nil else {
                throw BindingError(
                    "'{\(ForeignText.singleLine(Array(name.utf8), limit: 200))}' is not the name of a header "
                        + "field (RFC 9110 §5.1)")
            }
            return (.field(field), ValueType(.text, isOptional: true))
        case _ where name.hasPrefix("property:") && name.utf8.count > 9:
            return (.property(String(name.dropFirst(9))), ValueType(.property, isOptional: true))
        default: return nil
        }
    }

    // MARK: Values

    /// Returns the expression of a text with `{names}`, and its type.
    mutating func checkTemplate(_ text: String) throws(BindingError) -> (Expression, ValueType) {
        let pieces = try Template(parsing: text).pieces
        if pieces.count == 1, case .name(let name, let fallback) = pieces[0] { return try checkName(name, fallback) }
        var parts: [Expression] = []
        for piece in pieces {
            switch piece {
            case .literal(let text): parts.append(.text(text))
            case .name(let name, let fallback):
                let (part, type) = try checkName(name, fallback)
                switch type.kind {
                case .text, .integer, .property: break
                default: throw BindingError("'{\(name)}' is \(type.phrase), which can't be part of a text")
                }
                guard !type.isOptional else {
                    throw BindingError("'{\(name)}' can be absent; give a text for that case, as in '{\(name)|}'")
                }
                parts.append(part)
            }
        }
        if parts.isEmpty { return (.text(""), ValueType(.text)) }
        if parts.count == 1, case .text = parts[0] { return (parts[0], ValueType(.text)) }
        return (.joined(parts), ValueType(.text))
    }

    private mutating func checkName(_ name: String, _ fallback: String?) throws(BindingError) -> (Expression, ValueType) {
        var (source, type) = try resolve(name)
        guard let fallback else { return (.source(source, fallback: nil), type) }
        switch type.kind {
        case .text, .bytes, .property:
            type = ValueType(type.kind == .bytes ? .bytes : .text)
            return (.source(source, fallback: .text(fallback)), type)
        case .integer:
            guard let number = Int128(fallback) else { throw BindingError("'{\(name)|\(fallback)}' needs an integer after the bar") }
            return (.source(source, fallback: .integer(number)), ValueType(.integer))
        case .null, .real, .boolean, .pointer: throw BindingError("'{\(name)}' is \(type.phrase), which can't have a text as a fallback")
        }
    }
}

extension ValueOrigin.URLPart {
    var type: ValueType {
        switch self {
        case .all, .scheme, .path, .rest: ValueType(.text)
        case .port: ValueType(.integer, isOptional: true)
        case .username, .password, .host, .query, .fragment, .file, .member: ValueType(.text, isOptional: true)
        }
    }
}
