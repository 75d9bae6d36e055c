// SPDX-License-Identifier: Apache-2.0

public import Logging
public import PortolanCore

/// A plugin that a manifest describes. Its library is not open, and can be missing.
public struct InstalledPlugin: Sendable {
    public private(set) var manifest: PluginManifest
    /// An absolute path.
    public let manifestPath: String
    /// The reason why the plugin cannot be used. `nil` if the plugin can be used.
    public internal(set) var problem: PluginProblem?
    /// Problems that do not prevent the use of the plugin.
    public internal(set) var warnings: [PluginProblem] = []
    /// Whether the user named the plugin. If other users can change the plugin's files, that is only a warning for such
    /// a plugin, but an error for a plugin that a search found.
    let isNamedByUser: Bool
    var policy: PluginPolicy
    /// Whether to open a copy of the library, so that the file can be overwritten while loads run. The copy is in the
    /// temporary folder, and is deleted immediately after the library was opened.
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

    /// The reason why the manifest or the policy forbids the plugin. `nil` if both allow it.
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

    /// Reads the complete manifest again, and returns the plugin with it. A search skips the conformance section.
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

    /// Reads the manifest again, and returns the plugin with the same policy and settings.
    ///
    /// - Throws: the problem of the manifest, or MANIF-09 if other users can change the manifest now.
    func readingAgain() throws(PluginProblem) -> Self {
        if !isNamedByUser {
            var trustPolicy = PathTrustPolicy()
            _ = try trustPolicy.resolve(manifestPath)
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

    /// Returns the plugin's configuration. `settings` take precedence over the policy's values, and these over the
    /// manifest's defaults.
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
        let names = manifest.settings.map(\.name).joined(separator: ", ")
        throw ManifestProblem("is not declared in the manifest; it declares \(names.isEmpty ? "none" : names)")
    }

    /// Opens the library, checks that it matches the manifest, and starts an instance. This can take some time.
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
        return try Plugin(
            contentsOf: path, copying: copiesLibrary, configuration: configuration, permissions: manifest.permissions, logger: logger
        ) {
            descriptor throws(PluginProblem) in
            try checkAgreement(with: descriptor)
        }
    }
}
