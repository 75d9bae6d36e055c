// SPDX-License-Identifier: Apache-2.0

import FoundationEssentials
public import PortolanCore

/// What a plugin is set up with: a JSON object.
///
///     let configuration = try PluginConfiguration(json: #"{"greeting": "Ahoy"}"#)
///     let plugin = try Plugin(contentsOf: path, configuration: configuration)
public struct PluginConfiguration: Sendable {
    /// The object as the plugin gets it.
    public let json: String
    /// Its scalars, by name in lexical order; members of objects inside are named `a.b`, arrays and nulls are left out.
    public let settings: [(name: String, value: PropertyValue)]

    /// An empty object.
    public init() {
        json = "{}"
        settings = []
    }

    /// - Throws: ``LoadError/Code/badRequest`` where the text is no JSON object.
    public init(json: String) throws(LoadError) {
        let object: [String: JSONValue]
        do {
            object = try JSONDecoder().decode([String: JSONValue].self, from: Data(json.utf8))
        } catch {
            throw LoadError(
                .badRequest, message: Text.oneLine("a plugin's configuration is no JSON object: \(error)", limit: 1024), cause: error)
        }
        self.json = json
        settings = Self.flatten(object, prefix: "").sorted { $0.name < $1.name }
    }

    private static func flatten(_ object: [String: JSONValue], prefix: String) -> [(name: String, value: PropertyValue)] {
        object.flatMap { key, value -> [(name: String, value: PropertyValue)] in
            switch value {
            case .scalar(let scalar): [(prefix + key, scalar)]
            case .object(let inner): flatten(inner, prefix: prefix + key + ".")
            case .other: []
            }
        }
    }
}
