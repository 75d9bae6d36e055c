// SPDX-License-Identifier: Apache-2.0

public import Logging
public import PortolanCore

/// A plugin that a manifest tells of. Its library has not been opened, and may not even be there.
public struct InstalledPlugin: Sendable {
    public private(set) var manifest: PluginManifest
    /// Absolute.
    public let manifestPath: String
    /// Why it is not used; `nil` where it is.
    public internal(set) var problem: PluginProblem?
    /// What its user allowed to be overlooked; one line each.
    public internal(set) var warnings: [PluginProblem] = []
    /// Whether its user named it, rather than a search having found it: then others may be able to change its files, and it is a warning.
    let isNamedByUser: Bool
    var policy: PluginPolicy
    /// Whether a copy of the library is opened, in the temporary folder and gone at once, so that the file may be written over while loads run.
    public var copiesLibrary = false

    init(_ manifest: PluginManifest, at manifestPath: String, policy: PluginPolicy, isNamedByUser: Bool = false) {
        self.manifest = manifest
        self.manifestPath = manifestPath
        self.policy = policy
        self.isNamedByUser = isNamedByUser
        problem = objection
    }

    public var identifier: String { manifest.identifier }
    /// Where the manifest lies.
    public var folder: String { Folder.parent(of: manifestPath) ?? "." }
    public var libraryPath: String {
        manifest.bindsSystemLibrary ? SystemLibrary.path(of: manifest.library) : "\(folder)/\(manifest.library)"
    }

    private static let hostVersion = SemanticVersion(portolanVersion)

    /// What can be said against it without a look at its library.
    private var objection: PluginProblem? {
        if let objection = policy.objection(to: identifier) { return PluginProblem(manifestPath, nil, objection) }
        if let range = manifest.hostVersions, let version = Self.hostVersion, !range.contains(version) {
            return PluginProblem(
                manifestPath, .hostIsInRange,
                "the plugin \(identifier) is for hosts \(range.text), and this is \(portolanVersion); install a version of it that is for this one"
            )
        }
        return nil
    }

    /// The same with all of its manifest, which is read again: a search passes over what only judges need.
    ///
    /// - Throws: what is wrong with the manifest, its conformance section included.
    public func readingConformance() throws(PluginProblem) -> Self {
        var plugin = self
        plugin.manifest = try ManifestSearch.read(manifestPath)
        guard plugin.identifier == identifier else {
            throw PluginProblem(manifestPath, nil, "it was for \(identifier) just now, and is for \(plugin.identifier); try again")
        }
        return plugin
    }

    /// The same as its manifest and the policy say now, with the settings that it was given.
    ///
    /// - Throws: what is wrong with the manifest, and MANIF-09 where others can change it now.
    func readingAgain() throws(PluginProblem) -> Self {
        if !isNamedByUser {
            var trusted = PathTrustPolicy()
            _ = try trusted.resolve(manifestPath)
        }
        var plugin = Self(try ManifestSearch.read(manifestPath), at: manifestPath, policy: policy, isNamedByUser: isNamedByUser)
        guard plugin.identifier == identifier else {
            throw PluginProblem(
                manifestPath, nil,
                "it was for \(identifier), and is for \(plugin.identifier) now; what is to be reloaded keeps its identifier")
        }
        plugin.copiesLibrary = copiesLibrary
        plugin.warnings = warnings
        return plugin
    }

    /// What the plugin is set up with: the manifest's defaults, the policy's values over them, and `settings` over those.
    ///
    /// - Throws: a setting that the manifest does not declare, of the wrong kind, beyond its bounds, or missing.
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

    /// A value as a user writes it on a command line, in the shape that the manifest declares for it.
    public func value(of name: String, text: String) throws(PluginProblem) -> PropertyValue {
        do throws(ManifestProblem) {
            return try setting(name).value(text: text)
        } catch {
            throw PluginProblem(manifestPath, nil, "the setting '\(Text.oneLine(name, limit: 80))' of \(identifier) \(error.detail)")
        }
    }

    private func setting(_ name: String) throws(ManifestProblem) -> PluginSetting {
        if let setting = manifest.settings.first(where: { $0.name == name }) { return setting }
        let known = manifest.settings.isEmpty ? "it has none" : "it has \(manifest.settings.map(\.name).joined(separator: ", "))"
        throw ManifestProblem("is not declared in the manifest; \(known)")
    }

    /// Opens its library, checks that it is what the manifest says, and starts an instance. May take its time.
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
