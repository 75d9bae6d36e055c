// SPDX-License-Identifier: Apache-2.0

public import Logging
public import PortolanCore

/// A plugin that a manifest describes. Its library has not been opened, and may be missing.
public struct InstalledPlugin: Sendable {
    public private(set) var manifest: PluginManifest
    /// Absolute.
    public let manifestPath: String
    /// The reason why the plugin cannot be used; `nil` if it can.
    public internal(set) var problem: PluginProblem?
    /// Problems that the user accepted; one line each.
    public internal(set) var warnings: [PluginProblem] = []
    /// Whether the user named the plugin. If others can change its files, that is then only a warning. It is an error
    /// for a plugin that a search found.
    let isNamedByUser: Bool
    var policy: PluginPolicy
    /// Whether to open a copy of the library, so that the file may be overwritten while loads run. The copy is in the
    /// temporary folder, and is deleted at once.
    public var copiesLibrary = false

    init(_ manifest: PluginManifest, at manifestPath: String, policy: PluginPolicy, isNamedByUser: Bool = false) {
        self.manifest = manifest
        self.manifestPath = manifestPath
        self.policy = policy
        self.isNamedByUser = isNamedByUser
        problem = objection
    }

    public var identifier: String { manifest.identifier }
    /// The manifest's folder.
    public var folder: String { Folder.parent(of: manifestPath) ?? "." }
    public var libraryPath: String {
        manifest.bindsSystemLibrary ? SystemLibrary.path(of: manifest.library) : "\(folder)/\(manifest.library)"
    }

    private static let hostVersion = SemanticVersion(portolanVersion)

    /// The reason against the plugin that is known without its library.
    private var objection: PluginProblem? {
        if let objection = policy.objection(to: identifier) { return PluginProblem(manifestPath, nil, objection) }
        if let range = manifest.hostVersions, let version = Self.hostVersion, !range.contains(version) {
            return PluginProblem(
                manifestPath, .hostIsInRange,
                "the plugin \(identifier) is for hosts \(range.text), but this host is \(portolanVersion); install a version of the plugin for this host"
            )
        }
        return nil
    }

    /// This plugin with its complete manifest, which is read again. A search skips the part that only a conformance
    /// runner needs.
    ///
    /// - Throws: the problem of the manifest, including its conformance section.
    public func readingConformance() throws(PluginProblem) -> Self {
        var plugin = self
        plugin.manifest = try ManifestSearch.read(manifestPath)
        guard plugin.identifier == identifier else {
            throw PluginProblem(manifestPath, nil, "its identifier has changed from \(identifier) to \(plugin.identifier); try again")
        }
        return plugin
    }

    /// This plugin according to the current manifest and the policy, with its current settings.
    ///
    /// - Throws: the problem of the manifest; MANIF-09 if others can change it now.
    func readingAgain() throws(PluginProblem) -> Self {
        if !isNamedByUser {
            var trusted = PathTrustPolicy()
            _ = try trusted.resolve(manifestPath)
        }
        var plugin = Self(try ManifestSearch.read(manifestPath), at: manifestPath, policy: policy, isNamedByUser: isNamedByUser)
        guard plugin.identifier == identifier else {
            throw PluginProblem(
                manifestPath, nil,
                "its identifier has changed from \(identifier) to \(plugin.identifier); a reload needs the same identifier")
        }
        plugin.copiesLibrary = copiesLibrary
        plugin.warnings = warnings
        return plugin
    }

    /// The plugin's configuration: the manifest's defaults, overridden by the policy's values, overridden by
    /// `settings`.
    ///
    /// - Throws: if a setting is undeclared, has the wrong kind, is out of bounds or is missing.
    public func configuration(_ settings: [(name: String, value: PropertyValue)] = []) throws(PluginProblem) -> PluginConfiguration {
        var values: [String: PropertyValue] = [:]
        for (name, value) in policy.settings(of: identifier) + settings {
            do throws(ManifestProblem) {
                values[name] = try setting(name).value(value)
            } catch {
                throw PluginProblem(manifestPath, nil, "the setting '\(Text.oneLine(name, limit: 80))' of \(identifier) \(error.detail)")
            }
        }
        for setting in manifest.settings where values[setting.name] == nil {
            if setting.isRequired, setting.defaultValue == nil {
                throw PluginProblem(manifestPath, nil, "the setting '\(setting.name)' of \(identifier) is required; give it a value")
            }
            values[setting.name] = setting.defaultValue
        }
        return PluginConfiguration(values.sorted { $0.key < $1.key }.map { ($0.key, $0.value) })
    }

    /// Parses a value from a command line, according to its declaration in the manifest.
    public func value(of name: String, text: String) throws(PluginProblem) -> PropertyValue {
        do throws(ManifestProblem) {
            return try setting(name).value(text: text)
        } catch {
            throw PluginProblem(manifestPath, nil, "the setting '\(Text.oneLine(name, limit: 80))' of \(identifier) \(error.detail)")
        }
    }

    private func setting(_ name: String) throws(ManifestProblem) -> PluginSetting {
        if let setting = manifest.settings.first(where: { $0.name == name }) { return setting }
        let known = manifest.settings.isEmpty ? "it declares none" : "it declares \(manifest.settings.map(\.name).joined(separator: ", "))"
        throw ManifestProblem("is not declared in the manifest; \(known)")
    }

    /// Opens the library, checks that it matches the manifest, and starts an instance. This may take some time.
    public func open(
        settings: [(name: String, value: PropertyValue)] = [], logger: Logger = Logger(label: "portolan.plugins")
    ) throws(LoadError) -> Plugin {
        let (configuration, path): (PluginConfiguration, String)
        do throws(PluginProblem) {
            if let problem { throw problem }
            (configuration, path) = (try self.configuration(settings), try checkedLibrary())
        } catch {
            throw LoadError(error)
        }
        if let binding = manifest.binding { return try open(binding, at: path, configuration, logger) }
        return try Plugin(contentsOf: path, copying: copiesLibrary, configuration: configuration, logger: logger) {
            descriptor throws(PluginProblem) in
            try checkAgreement(with: descriptor)
        }
    }
}
