// SPDX-License-Identifier: Apache-2.0

public import PortolanCore
import PortolanJSON

/// A setting of a plugin, as its manifest declares it.
public struct PluginSetting: Hashable, Sendable {
    public enum Kind: String, Hashable, Sendable, CaseIterable {
        case string, integer, number, boolean
    }

    public let name: String
    public let kind: Kind
    /// The value if the user does not set one. If there is no default either, a required setting is an error, and an
    /// optional setting has no value.
    public private(set) var defaultValue: PropertyValue?
    public let isRequired: Bool
    /// One line to show to people.
    public let summary: String?
    /// The bounds of integers and numbers, both inclusive.
    public let minimum, maximum: Double?

    /// Whether the text is a letter, then letters, digits, `-` and `_`, and at most 64 bytes.
    static func isName(_ text: String) -> Bool {
        guard let first = text.utf8.first, text.utf8.count <= 64, Text.isAlphanumeric(first), !Text.isDigit(first) else { return false }
        return text.utf8.allSatisfy { Text.isAlphanumeric($0) || $0 == UInt8(ascii: "-") || $0 == UInt8(ascii: "_") }
    }
}

extension PluginSetting {
    private static let names = ["type", "default", "required", "description", "minimum", "maximum"]

    init(_ name: String, _ value: JSONValue) throws(ManifestProblem) {
        guard Self.isName(name) else {
            throw ManifestProblem(
                "'\(Text.oneLine(name, limit: 80))' can't be the name of a setting; use a letter, then letters, digits, '-' and '_', 64 characters at most",
                at: JSONPath().name)
        }
        let object = try ManifestObject(value, names: Self.names)
        let kind = try object.required("type") { value throws(ManifestProblem) in
            guard let kind = Kind(rawValue: try value.text()) else {
                throw ManifestProblem("has to be one of \(Kind.allCases.map(\.rawValue).joined(separator: ", "))")
            }
            return kind
        }
        (self.name, self.kind) = (name, kind)
        isRequired = try object.optional("required") { value throws(ManifestProblem) in try value.boolean() } ?? false
        summary = try object.optional("description") { value throws(ManifestProblem) in try value.line() }
        let bound = { (value: JSONValue) throws(ManifestProblem) -> Double in
            guard kind == .integer || kind == .number else {
                throw ManifestProblem("is only for integers and numbers, and this is a \(kind.rawValue)")
            }
            return try value.real()
        }
        let (minimum, maximum) = (try object.optional("minimum", bound), try object.optional("maximum", bound))
        if let minimum, let maximum, minimum > maximum { throw ManifestProblem("'minimum' is above 'maximum'") }
        (self.minimum, self.maximum) = (minimum, maximum)
        defaultValue = nil
        let setting = self
        defaultValue = try object.optional("default") { value throws(ManifestProblem) in try setting.value(value) }
    }

    /// Checks a value from a manifest.
    func value(_ value: JSONValue) throws(ManifestProblem) -> PropertyValue {
        try self.value(value.scalar(kind.phrase))
    }

    /// Checks a value from a policy or a user. An integer is accepted as a number.
    func value(_ value: PropertyValue) throws(ManifestProblem) -> PropertyValue {
        switch (kind, value) {
        case (.string, .text), (.boolean, .boolean): return value
        case (.integer, .integer(let integer)):
            try check(Double(integer))
            return value
        case (.number, .integer(let integer)):
            try check(Double(integer))
            return .real(Double(integer))
        case (.number, .real(let real)):
            try check(real)
            return value
        case (.integer, .real(let real)) where real.magnitude >= 0x1p63:
            throw ManifestProblem("is \(phrase(real)), which does not fit in 64 bits")
        default: throw ManifestProblem("is \(value.phrase), where \(kind.phrase) is needed")
        }
    }

    /// Parses and checks a value from a command line.
    func value(text: String) throws(ManifestProblem) -> PropertyValue {
        let value: PropertyValue? =
            switch kind {
            case .string: .text(text)
            case .integer: Int64(text).map(PropertyValue.integer)
            case .number: Double(text).flatMap { $0.isFinite ? .real($0) : nil }
            case .boolean: Bool(text).map(PropertyValue.boolean)
            }
        guard let value else { throw ManifestProblem("is '\(Text.oneLine(text, limit: 80))', where \(kind.phrase) is needed") }
        return try self.value(value)
    }

    private func check(_ number: Double) throws(ManifestProblem) {
        if let minimum, number < minimum { throw ManifestProblem("is \(phrase(number)), below the minimum \(phrase(minimum))") }
        if let maximum, number > maximum { throw ManifestProblem("is \(phrase(number)), above the maximum \(phrase(maximum))") }
    }

    /// Formats an integer without a decimal point, as the user wrote it.
    private func phrase(_ number: Double) -> String {
        kind == .integer ? Int64(exactly: number).map { "\($0)" } ?? "\(number)" : "\(number)"
    }
}

extension PluginSetting.Kind {
    /// A value of this kind.
    var example: PropertyValue {
        switch self {
        case .string: .text("")
        case .integer: .integer(0)
        case .number: .real(0)
        case .boolean: .boolean(false)
        }
    }

    var phrase: String {
        switch self {
        case .string: "a string"
        case .integer: "an integer"
        case .number: "a number"
        case .boolean: "true or false"
        }
    }
}

extension PropertyValue {
    fileprivate var phrase: String {
        switch self {
        case .text: "a string"
        case .bytes: "bytes"
        case .integer: "an integer"
        case .real: "a number"
        case .boolean: "true or false"
        }
    }
}
