// SPDX-License-Identifier: Apache-2.0

public import PortolanCore
import PortolanJSON

/// The user's policy for plugins: which are allowed, which digests their libraries must have, and their settings.
///
/// Patterns are identifiers. A pattern that ends in `*` matches every identifier with that prefix.
public struct PluginPolicy: Sendable {
    /// A plugin must match a pattern of each of these lists.
    public var allowLists: [[String]] = []
    /// Patterns of the plugins that are denied.
    public var denied: [String] = []
    /// SHA-256 digests in hexadecimal, by identifier. The library must match all of them.
    public var pins: [(identifier: String, sha256: String)] = []
    /// Values by identifier and name. If there are several for a name, the last one is used.
    public var settings: [(identifier: String, name: String, value: PropertyValue)] = []
    /// The reason why the policy cannot be read. If there is one, the policy denies every plugin.
    public private(set) var problem: PluginProblem?
    /// The file or variable of each list, for messages.
    private var origins: [(origin: String, isDenial: Bool, patterns: [String])] = []

    /// No restrictions.
    public init() {}

    /// The policies of the system and the user: `/etc/portolan/plugins.json` and `portolan/plugins.json` in
    /// `$XDG_CONFIG_HOME` (default `~/.config`), and the comma-separated patterns in `PORTOLAN_PLUGIN_ALLOW` and
    /// `PORTOLAN_PLUGIN_DENY`. All of them apply. The user's settings take
    /// precedence over the system's.
    public static var standard: Self {
        var policy = Self()
        let folderVariable = Environment["XDG_CONFIG_HOME"]?.hasPrefix("/") == true ? "XDG_CONFIG_HOME" : "HOME"
        for name in [folderVariable, "PORTOLAN_PLUGIN_ALLOW", "PORTOLAN_PLUGIN_DENY"] where !Environment.isUTF8(name) {
            policy.problem = PluginProblem(name, nil, "its value is not UTF-8 and can't be read; set it again")
        }
        policy.add(contentsOf: "/etc/portolan/plugins.json")
        if let folder = Environment.userFolder("XDG_CONFIG_HOME", orInHome: ".config") {
            policy.add(contentsOf: folder + "/portolan/plugins.json")
        }
        if let list = Environment["PORTOLAN_PLUGIN_ALLOW"] { policy.allow(Self.patterns(in: list), "PORTOLAN_PLUGIN_ALLOW") }
        if let list = Environment["PORTOLAN_PLUGIN_DENY"] { policy.deny(Self.patterns(in: list), "PORTOLAN_PLUGIN_DENY") }
        return policy
    }

    private mutating func allow(_ patterns: [String], _ origin: String) {
        allowLists.append(patterns)
        origins.append((origin, false, patterns))
    }

    private mutating func deny(_ patterns: [String], _ origin: String) {
        denied += patterns
        origins.append((origin, true, patterns))
    }

    /// Adds the policy in the file at the absolute `path`, if the file exists. If other users can change the file, the
    /// policy denies every plugin.
    public mutating func add(contentsOf path: String) {
        do throws(SystemCallError) {
            let bytes = try Folder.contents(of: path, atMost: PluginManifest.sizeLimit)
            add(bytes, of: path)
        } catch {
            if !error.isMissing { problem = problem ?? PluginProblem(path, nil, "the policy can't be read: \(error)") }
        }
    }

    private mutating func add(_ bytes: [UInt8], of path: String) {
        do throws(PluginProblem) {
            var trustPolicy = PathTrustPolicy()
            _ = try trustPolicy.resolve(path)
            let value = try ManifestProblem.parse(bytes, path: path, nil) { value throws(ManifestProblem) in try PolicyFile(value) }
            if let patterns = value.allowPatterns { allow(patterns, path) }
            deny(value.denyPatterns, path)
            pins += value.pins
            settings += value.settings
        } catch {
            problem = problem ?? error
        }
    }

    private static func patterns(in list: String) -> [String] {
        list.split(separator: ",").map { $0.split(separator: " ").joined(separator: " ") }
    }

    /// Returns why the policy denies the plugin. `nil` if it allows the plugin.
    func objection(to identifier: String) -> String? {
        if let problem { return "no plugin is used, because the policy can't be used: \(problem)" }
        if let pattern = denied.first(where: { Self.matches($0, identifier) }) {
            let list = phrase(for: "deny list", origins.first { $0.isDenial && $0.patterns.contains(pattern) }?.origin)
            return "the plugin \(identifier) is denied by '\(Text.oneLine(pattern, limit: 80))'; remove this pattern from \(list) to use it"
        }
        if let patterns = allowLists.first(where: { !$0.contains { Self.matches($0, identifier) } }) {
            let list = phrase(for: "allow list", origins.first { !$0.isDenial && $0.patterns == patterns }?.origin)
            return "the plugin \(identifier) is not on \(list); add it there to use it"
        }
        return nil
    }

    private func phrase(for list: String, _ origin: String?) -> String {
        origin.map { "the \(list) of \(Text.oneLine($0))" } ?? "the \(list)"
    }

    private static func matches(_ pattern: String, _ identifier: String) -> Bool {
        pattern.hasSuffix("*") ? identifier.hasPrefix(pattern.dropLast()) : identifier == pattern
    }

    func pins(of identifier: String) -> [String] {
        pins.filter { $0.identifier == identifier }.map { $0.sha256.lowercased() }
    }

    func settings(of identifier: String) -> [(name: String, value: PropertyValue)] {
        settings.filter { $0.identifier == identifier }.map { ($0.name, $0.value) }
    }
}

/// The contents of `plugins.json`, in JSON5:
///
///     {"allow": [pattern], "deny": [pattern], "pins": {identifier: digest}, "settings": {identifier: {name: value}}}
private struct PolicyFile {
    let allowPatterns: [String]?
    let denyPatterns: [String]
    let pins: [(identifier: String, sha256: String)]
    let settings: [(identifier: String, name: String, value: PropertyValue)]

    init(_ value: JSONValue) throws(ManifestProblem) {
        let object = try ManifestObject(value, names: ["$schema", "allow", "deny", "pins", "settings"])
        let patterns = { (value: JSONValue) throws(ManifestProblem) -> [String] in
            try value.list(0...4096) { value throws(ManifestProblem) in try value.line() }
        }
        allowPatterns = try object.optional("allow", patterns)
        denyPatterns = try object.optional("deny", patterns) ?? []
        pins =
            try object.optional("pins") { value throws(ManifestProblem) in
                try ManifestObject(value, names: nil).map { name, value throws(ManifestProblem) in (name, try value.sha256()) }
            } ?? []
        settings =
            try object.optional("settings") { value throws(ManifestProblem) in
                try ManifestObject(value, names: nil).map { identifier, value throws(ManifestProblem) in
                    try ManifestObject(value, names: nil).map { name, value throws(ManifestProblem) in
                        (identifier, name, try value.scalar("a string, a number, true or false"))
                    }
                }.flatMap { $0 }
            } ?? []
    }
}
