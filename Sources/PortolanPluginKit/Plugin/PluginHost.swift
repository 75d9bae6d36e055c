// SPDX-License-Identifier: Apache-2.0

import CPortolan
import FoundationEssentials

/// What the host does for a plugin as a whole. Any thread.
public struct PluginHost: Sendable {
    /// How much a log line matters.
    public enum LogLevel: Int32, Sendable {
        case error = 1
        case warning, info, debug
    }

    private let instance: PluginInstance

    init(_ instance: PluginInstance) { self.instance = instance }

    /// The host's own version.
    public var version: String { instance.hostVersion }

    /// Writes one line to wherever the user reads it; a plugin writes nothing to standard output or standard error. After the plugin has
    /// ended, it does nothing.
    public func log(_ level: LogLevel, _ message: String) {
        instance.log(portolan_level(rawValue: level.rawValue), message)
    }

    /// The setting of that name, members of objects as in `a.b`; `nil` where it is not set, or no scalar.
    ///
    /// - Throws: ``PluginError/Code/badRequest`` with its name, where it is of another kind (REG-06).
    public func setting<Value: PluginPropertyConvertible>(_ name: String, as type: Value.Type = Value.self) throws -> Value? {
        guard let found = instance.settings.first(where: { $0.name == name }) else { return nil }
        guard let value = Value(found.value) else {
            throw PluginError(.badRequest, message: "the setting '\(name)' is to be \(Value.kindName)")
        }
        return value
    }

    /// The whole configuration: what the manifest and the user say.
    ///
    /// - Throws: ``PluginError/Code/badRequest`` with the name of the setting that does not fit.
    public func settings<Settings: Decodable>(as type: Settings.Type = Settings.self) throws -> Settings {
        do {
            return try JSONDecoder().decode(type, from: Data(instance.configuration))
        } catch let error as DecodingError {
            throw PluginError(error)
        }
    }
}

extension PluginError {
    /// What is wrong with the configuration, and where. The value is not quoted: it may be a secret.
    fileprivate init(_ error: DecodingError) {
        let (path, detail): ([any CodingKey], String) =
            switch error {
            case .typeMismatch(let type, let context): (context.codingPath, "is to be of the type \(type)")
            case .valueNotFound(let type, let context): (context.codingPath, "is null, and is to be of the type \(type)")
            case .keyNotFound(let key, let context): (context.codingPath + [key], "is missing; set it")
            case .dataCorrupted(let context): (context.codingPath, "does not fit: \(context.debugDescription)")
            @unknown default: ([], "does not fit")
            }
        let name = path.map(\.stringValue).joined(separator: ".")
        self.init(.badRequest, message: name.isEmpty ? "the configuration \(detail)" : "the setting '\(name)' \(detail)")
    }
}
