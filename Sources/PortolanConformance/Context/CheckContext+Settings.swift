// SPDX-License-Identifier: Apache-2.0

import PortolanCore
import PortolanJSON
import PortolanPlugins

/// Configurations that differ from the manifest's own.
extension CheckContext {
    /// For each setting, configurations with a value of a wrong type, and a description of that value.
    ///
    /// - Throws: If the manifest declares no setting.
    func wrongConfigurations() throws(CheckSkipped) -> [(name: String, wrong: String, PluginConfiguration)] {
        var configurations: [(String, String, PluginConfiguration)] = []
        for setting in try settings() {
            let number: (String, JSONValue) = ("a number", .integer(42))
            let (text, boolean): ((String, JSONValue), (String, JSONValue)) = (
                ("a string", .string("forty-two")), ("a Boolean", .bool(true))
            )
            let wrongValues =
                switch setting.kind {
                case .string: [number, boolean]
                case .boolean: [text, number]
                default: [text, boolean]
                }
            for (phrase, value) in wrongValues {
                configurations.append((setting.name, phrase, try configuration(with: setting.name, value)))
            }
        }
        return configurations
    }

    /// For each setting, configurations with values at the bounds of its type. The plugin can refuse them.
    func extremeConfigurations() throws(CheckSkipped) -> [(name: String, PluginConfiguration)] {
        var configurations: [(String, PluginConfiguration)] = []
        for setting in try settings() {
            let values: [JSONValue] =
                switch setting.kind {
                case .integer: [0, -1, 1, .min, .max, Int64(Int32.min), Int64(Int32.max) + 1].map(JSONValue.integer)
                case .number: ["0", "-1", "1e-300", "1e300", "-1e300"].map(JSONValue.number)
                case .boolean: [.bool(false), .bool(true)]
                default: ["", "/", "%s%s%s%n", String(repeating: "x", count: 65_535)].map(JSONValue.string)
                }
            for value in values { configurations.append((setting.name, try configuration(with: setting.name, value))) }
        }
        return configurations
    }

    /// For each setting with a default, a configuration with another value of the same type. The plugin can refuse it.
    func otherConfigurations() throws(CheckSkipped) -> [(name: String, PluginConfiguration)] {
        var configurations: [(String, PluginConfiguration)] = []
        for setting in target.manifest?.manifest.settings ?? [] {
            let otherValue: JSONValue? =
                switch setting.defaultValue {
                case .text(let text)?: .string(text + "x")
                case .integer(let integer)?: .integer(integer == .max ? integer - 1 : integer + 1)
                case .real(let real)?: .number("\(real + 1)")
                case .boolean(let boolean)?: .bool(!boolean)
                case .bytes?, nil: nil
                }
            if let otherValue { configurations.append((setting.name, try configuration(with: setting.name, otherValue))) }
        }
        return configurations
    }

    /// For each setting, a configuration with a random value of its type. The plugin can refuse it.
    func randomConfigurations(_ random: inout SplitMix) throws(CheckSkipped) -> [(name: String, PluginConfiguration)] {
        var configurations: [(String, PluginConfiguration)] = []
        for setting in try settings() {
            let length = 1 << Int(random.next() % 12)
            let value: JSONValue =
                switch setting.kind {
                case .integer: .integer(Int64(bitPattern: random.next() >> (random.next() % 64)))
                case .number: .number("\(Double(random.next()) / 3)")
                case .boolean: .bool(random.next() % 2 == 0)
                default: .string(String(repeating: Character(UnicodeScalar(UInt8(0x21 + random.next() % 94))), count: length))
                }
            configurations.append((setting.name, try configuration(with: setting.name, value)))
        }
        return configurations
    }

    private func settings() throws(CheckSkipped) -> [PluginSetting] {
        let settings = target.manifest?.manifest.settings ?? []
        guard !settings.isEmpty else { throw CheckSkipped("the manifest declares no setting") }
        return settings
    }

    /// The manifest's own configuration with one value changed.
    private func configuration(with name: String, _ value: JSONValue) throws(CheckSkipped) -> PluginConfiguration {
        do {
            guard case .object(let members) = try JSONParser.parse(Array(configuration().json.utf8)) else { return PluginConfiguration() }
            let others = members.filter { $0.name != name }
            let object = JSONValue.object(others + [JSONValue.Member(name: name, value: value)])
            return try PluginConfiguration(json: String(decoding: object.bytes, as: UTF8.self))
        } catch {
            throw CheckSkipped("no configuration could be created: \(error)")
        }
    }
}
