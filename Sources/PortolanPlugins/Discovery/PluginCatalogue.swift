// SPDX-License-Identifier: Apache-2.0

public import Logging
public import PortolanCore

/// The installed plugins as their manifests describe them. Opens no library.
///
///     let catalogue = PluginCatalogue()
///     for problem in catalogue.problems { print(problem) }
///     catalogue.register(in: registry)
public struct PluginCatalogue: Sendable {
    /// All plugins in the order in which they were found. The first ones take precedence. Includes plugins that cannot
    /// be used.
    public private(set) var plugins: [InstalledPlugin] = []
    /// Problems without a known plugin: folders that other users can change, and manifests that cannot be read.
    public private(set) var unusablePlugins: [PluginProblem] = []
    private let policy: PluginPolicy
    private let logger: Logger

    /// Searches the folders for `NAME.plugin.json`, and for `NAME/NAME.plugin.json` or any other manifest in `NAME/`.
    ///
    /// A problem with one manifest does not hide others. Of two plugins with the same identifier, the first is used.
    ///
    /// - Complexity: linear in the total length of the manifests, about 40 µs for each manifest.
    public init(
        searching path: PluginSearchPath = .standard, policy: PluginPolicy = .standard, logger: Logger = Logger(label: "portolan.plugins")
    ) {
        self.policy = policy
        self.logger = logger
        var search = ManifestSearch()
        /// The path of the first manifest with each identifier.
        var firstPaths: [String: String] = [:]
        for folder in path.folders {
            let results = search.search(folder)
            plugins.reserveCapacity(plugins.count + results.count)
            firstPaths.reserveCapacity(firstPaths.count + results.count)
            for result in results {
                switch result {
                case .success(let (manifest, path)):
                    var plugin = InstalledPlugin(manifest, at: path, policy: policy)
                    if let firstPath = firstPaths[plugin.identifier] {
                        plugin.problem = PluginProblem(
                            path, .identifierIsUnique,
                            "\(plugin.identifier) is also in '\(firstPath)', which is found first; remove one of them")
                    }
                    firstPaths[plugin.identifier] = firstPaths[plugin.identifier] ?? path
                    plugins.append(plugin)
                case .failure(let problem): unusablePlugins.append(problem)
                }
            }
        }
    }

    /// All problems, first those without a known plugin.
    public var problems: [PluginProblem] { unusablePlugins + plugins.compactMap(\.problem) }

    public subscript(identifier: String) -> InstalledPlugin? {
        plugins.first { $0.identifier == identifier }
    }

    /// Changes a setting of an installed plugin. The new value takes precedence over the policy's. `text` is the value
    /// as it is written on a command line.
    public mutating func set(_ name: String, of identifier: String, to text: String) throws(PluginProblem) {
        guard let index = plugins.firstIndex(where: { $0.identifier == identifier }) else {
            throw PluginProblem(
                identifier, nil,
                "no plugin with this identifier is installed; 'portolan plugins list' shows "
                    + "the installed ones")
        }
        let value = try plugins[index].value(of: name, text: text)
        plugins[index].policy.settings.append((identifier, name, value))
    }

    /// Registers the plugins before the existing handlers of `registry`. Each plugin is opened when a request first
    /// needs it. If a plugin cannot be used and no other handler accepts the request, the request fails with the
    /// plugin's problem.
    ///
    /// - Returns: the registrations, in the order in which the plugins were found. Use them to reload plugins.
    @discardableResult
    public func register(in registry: ProtocolRegistry) -> [RegisteredPlugin] {
        for problem in unusablePlugins { logger.warning("\(problem)") }
        // A duplicate is skipped, because the first plugin with its identifier is registered.
        let uniquePlugins = plugins.filter { $0.problem?.rule != .identifierIsUnique }
        return uniquePlugins.reversed().map { RegisteredPlugin($0, in: registry, logger: logger) }.reversed()
    }

    /// Returns the plugin that a user named by its folder, its manifest, or its library. The manifest of a library is
    /// in the same folder.
    ///
    /// If other users can change the files, that is only a warning. If the library does not exist, for example in a
    /// source folder, returns the installed plugin with the same identifier.
    ///
    /// - Throws: the problem of the path or the manifest.
    public func plugin(at path: String) throws(PluginProblem) -> InstalledPlugin {
        let (manifest, manifestPath) = try ManifestSearch.manifest(named: path)
        var plugin = InstalledPlugin(manifest, at: manifestPath, policy: policy, isNamedByUser: true)
        // `try?` because opening the library reports why it cannot be used.
        if (try? FileStatus(at: plugin.libraryPath)) == nil {
            guard let installedPlugin = self[plugin.identifier] else {
                throw plugin.missingSystemLibrary
                    ?? PluginProblem(
                        plugin.libraryPath, .libraryOpens,
                        "the library does not exist, and no plugin \(plugin.identifier) is installed; build it first")
            }
            return installedPlugin
        }
        let manifestWarnings = Self.warnings(ofLibraryAt: manifestPath)
        plugin.warnings = manifestWarnings + Self.warnings(ofLibraryAt: plugin.libraryPath).filter { !manifestWarnings.contains($0) }
        return plugin
    }

    /// Returns the path of the manifest that ``plugin(at:)`` reads for the library at `path`; `nil` if no manifest in
    /// its folder names it.
    ///
    /// - Throws: If no manifest names the library, the problem of an invalid manifest in that folder.
    package static func manifestPath(ofLibraryAt path: String) throws(PluginProblem) -> String? {
        try ManifestSearch.manifestPath(ofLibraryAt: ManifestSearch.absolute(path))
    }

    /// Opens a library by its path, without a manifest.
    ///
    /// The policy for the identifier applies, but the identifier is known only after the library is open. So a denied
    /// plugin cannot load requests, but its library was mapped.
    public func open(libraryAt path: String) throws(LoadError) -> Plugin {
        try Plugin(contentsOf: path, configuration: PluginConfiguration(), permissions: [], logger: logger) {
            descriptor throws(PluginProblem) in
            if let objection = policy.objection(to: descriptor.identifier) { throw PluginProblem(path, nil, objection) }
            try LibraryDigest.check(path, against: policy.pins(of: descriptor.identifier))
        }
    }

    /// Returns a warning if other users can change a library that a user named by its path.
    public static func warnings(ofLibraryAt path: String) -> [PluginProblem] {
        var trustPolicy = PathTrustPolicy()
        do throws(PluginProblem) {
            _ = try trustPolicy.resolve(path.utf8.first == UInt8(ascii: "/") ? path : ManifestSearch.absolute(path))
        } catch {
            // Opening the library reports other problems, such as a missing file.
            return error.rule == .filesAreTrusted ? [error] : []
        }
        return []
    }
}

extension PluginCatalogue {
    /// The plugins in the standard folders. They are found at the first access.
    public static let shared = PluginCatalogue()
}
