// SPDX-License-Identifier: Apache-2.0

import CPortolan
import FoundationEssentials

/// The services of the host for the whole plugin. Can be used on any thread.
public struct PluginHost: Sendable {
    /// The severity of a log line.
    public enum LogLevel: Int32, Sendable {
        case error = 1
        case warning, info, debug
    }

    private let instance: PluginInstance

    init(_ instance: PluginInstance) { self.instance = instance }

    /// The host's version.
    public var version: String { instance.hostVersion }

    /// Writes one line to the host's log. Use this instead of standard output and standard error. Does nothing after
    /// the plugin has ended.
    public func log(_ level: LogLevel, _ message: String) {
        instance.log(portolan_level(rawValue: level.rawValue), message)
    }

    /// Returns the setting with this name. A member of an object has a name like `a.b`. `nil` if the setting is not
    /// set, or is an object or array.
    ///
    /// - Throws: ``PluginError/Code/badRequest`` with the setting's name if the value has another kind (REG-06).
    public func setting<Value: PluginPropertyConvertible>(_ name: String, as type: Value.Type = Value.self) throws -> Value? {
        guard let setting = instance.settings.first(where: { $0.name == name }) else { return nil }
        guard let value = Value(setting.value) else {
            throw PluginError(.badRequest, message: "the setting '\(name)' must be \(Value.kindName)")
        }
        return value
    }

    /// Decodes the whole configuration: the manifest's defaults and the user's settings.
    ///
    /// - Throws: ``PluginError/Code/badRequest`` with the name of the setting that does not match.
    public func settings<Settings: Decodable>(as type: Settings.Type = Settings.self) throws -> Settings {
        do {
            return try JSONDecoder().decode(type, from: Data(instance.configuration))
        } catch let error as DecodingError {
            throw PluginError(error)
        }
    }
}

extension PluginError {
    /// Names the setting and the mistake. Does not quote the value, because it can be a secret.
    fileprivate init(_ error: DecodingError) {
        let (path, detail): ([any CodingKey], String) =
            switch error {
            case .typeMismatch(let type, let context): (context.codingPath, "must be of the type \(type)")
            case .valueNotFound(let type, let context): (context.codingPath, "is null, and must be of the type \(type)")
            case .keyNotFound(let key, let context): (context.codingPath + [key], "is missing; set it")
            case .dataCorrupted(let context): (context.codingPath, "is not valid: \(context.debugDescription)")
            @unknown default: ([], "is not valid")
            }
        let name = path.map(\.stringValue).joined(separator: ".")
        self.init(.badRequest, message: name.isEmpty ? "the configuration \(detail)" : "the setting '\(name)' \(detail)")
    }
}
