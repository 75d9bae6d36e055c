// SPDX-License-Identifier: Apache-2.0

public import PortolanCore
import PortolanJSON

/// The configuration of a plugin: a JSON object.
///
///     let configuration = try PluginConfiguration(json: #"{"greeting": "Ahoy"}"#)
///     let plugin = try Plugin(contentsOf: path, configuration: configuration)
public struct PluginConfiguration: Sendable {
    /// The object as the plugin receives it.
    public let json: String
    /// The scalars of the object, sorted by name. A member of a nested object has a name like `a.b`. Arrays, nulls, and
    /// numbers outside the range of `Double` are omitted.
    public let settings: [(name: String, value: PropertyValue)]

    /// An empty object.
    public init() {
        json = "{}"
        settings = []
    }

    /// - Throws: `LoadError.Code.badRequest` if the text is not a JSON object.
    public init(json: String) throws(LoadError) {
        do throws(JSONError) {
            let value = try JSONParser.parse(Array(json.utf8))
            guard case .object = value else { throw JSONError(problem: .unexpectedByte, offset: 0) }
            self.json = json
            settings = Self.scalars(of: value, prefix: "").sorted { $0.key < $1.key }.map { ($0.key, $0.value) }
        } catch {
            throw LoadError(.badRequest, message: "a plugin's configuration is not a JSON object: \(error)", underlyingError: error)
        }
    }

    /// Creates a configuration from settings that were checked, and are already sorted by name.
    init(_ settings: [(name: String, value: PropertyValue)]) {
        self.settings = settings
        let members = settings.map { JSONValue.Member(name: $0.name, value: JSONValue($0.value)) }
        json = String(decoding: JSONValue.object(members).bytes, as: UTF8.self)
    }

    private static func scalars(of value: JSONValue, prefix: String) -> [String: PropertyValue] {
        guard case .object(let members) = value else { return [:] }
        var scalars: [String: PropertyValue] = [:]
        for member in members {
            let name = prefix + member.name
            if let scalar = PropertyValue(member.value) {
                scalars[name] = scalar
            } else {
                scalars.merge(Self.scalars(of: member.value, prefix: name + ".")) { $1 }
            }
        }
        return scalars
    }
}

extension PropertyValue {
    /// - Returns: `nil` if the value is not a scalar, or is a number outside the range of `Double`.
    init?(_ value: JSONValue) {
        switch value {
        case .bool(let boolean): self = .boolean(boolean)
        case .string(let text): self = .text(text)
        case .number(let text):
            if let integer = Int64(text) {
                self = .integer(integer)
            } else if let real = Double(text), real.isFinite {
                self = .real(real)
            } else {
                return nil
            }
        case .null, .array, .object: return nil
        }
    }
}

extension JSONValue {
    /// Bytes become null, but no setting has bytes.
    fileprivate init(_ value: PropertyValue) {
        self =
            switch value {
            case .text(let text): .string(text)
            case .integer(let integer): .integer(integer)
            case .real(let real): .number("\(real)")
            case .boolean(let boolean): .bool(boolean)
            case .bytes: .null
            }
    }
}
