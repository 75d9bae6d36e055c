// SPDX-License-Identifier: Apache-2.0

public import Logging
public import PortolanCore

/// The plugins that are installed, as far as their manifests tell: no library is opened to know them.
///
///     let catalogue = PluginCatalogue()
///     for problem in catalogue.problems { print(problem) }
///     catalogue.register(in: registry)
public struct PluginCatalogue: Sendable {
    /// In the order in which they were found, so that the first is asked first; those that can't be used among them.
    public private(set) var plugins: [InstalledPlugin] = []
    /// What was found that is no plugin that can be known: folders that others can change, manifests that can't be read.
    public private(set) var strays: [PluginProblem] = []
    private let policy: PluginPolicy
    private let logger: Logger

    /// Searches now: each folder's `NAME.plugin.json` and `NAME/NAME.plugin.json`, or whichever manifest lies in `NAME/`.
    ///
    /// One that is wrong keeps no other from being found. Of two with one identifier the first counts.
    ///
    /// - Complexity: linear in the number of manifests and their length; some 40 µs for each.
    public init(
        searching path: PluginSearchPath = .standard, policy: PluginPolicy = .standard, logger: Logger = Logger(label: "portolan.plugins")
    ) {
        self.policy = policy
        self.logger = logger
        var search = ManifestSearch()
        var known: [String: String] = [:]
        for folder in path.folders {
            let findings = search.findings(in: folder)
            plugins.reserveCapacity(plugins.count + findings.count)
            known.reserveCapacity(known.count + findings.count)
            for finding in findings {
                switch finding {
                case .success(let (manifest, path)):
                    var plugin = InstalledPlugin(manifest, at: path, policy: policy)
                    if let first = known[plugin.identifier] {
                        plugin.problem = PluginProblem(
                            path, .identifierIsUnique,
                            "\(plugin.identifier) is also in '\(first)', which is found first; remove one")
                    }
                    known[plugin.identifier] = known[plugin.identifier] ?? path
                    plugins.append(plugin)
                case .failure(let problem): strays.append(problem)
                }
            }
        }
    }

    /// Everything that is wrong, in the order in which it was found, strays first.
    public var problems: [PluginProblem] { strays + plugins.compactMap(\.problem) }

    public subscript(identifier: String) -> InstalledPlugin? {
        plugins.first { $0.identifier == identifier }
    }

    /// Sets an installed plugin up, over what the policy says of it, as a user writes it on a command line.
    public mutating func set(_ name: String, of identifier: String, to text: String) throws(PluginProblem) {
        guard let index = plugins.firstIndex(where: { $0.identifier == identifier }) else {
            throw PluginProblem(identifier, nil, "no plugin of this identifier is installed; 'portolan plugins list' names those that are")
        }
        let value = try plugins[index].value(of: name, text: text)
        plugins[index].policy.settings.append((identifier, name, value))
    }

    /// Puts the plugins in front of the handlers that `registry` has. Each is opened when a request first needs it; one that can't be used
    /// answers with what is wrong with it where nobody else takes the request.
    ///
    /// - Returns: their places, the first found first, by which they can be reloaded.
    @discardableResult
    public func register(in registry: ProtocolRegistry) -> [RegisteredPlugin] {
        for problem in strays { logger.warning("\(problem)") }
        // The other of one identifier serves in the place of one that is not unique.
        let unique = plugins.filter { $0.problem?.rule != .identifierIsUnique }
        return unique.reversed().map { RegisteredPlugin($0, in: registry, logger: logger) }.reversed()
    }

    /// The plugin that a user named by its folder or manifest, or by its library, which a manifest beside it names.
    ///
    /// What others can change is a warning here, not a refusal. A folder whose library is not there, as a source folder's, means the
    /// installed plugin of that identifier.
    ///
    /// - Throws: what is wrong with the path or the manifest.
    public func plugin(at path: String) throws(PluginProblem) -> InstalledPlugin {
        let (manifest, manifestPath) = try ManifestSearch.manifest(named: path)
        var plugin = InstalledPlugin(manifest, at: manifestPath, policy: policy, isNamedByUser: true)
        // `try?` because why the library can't be used is told when it is opened.
        if (try? FileStatus(at: plugin.libraryPath)) == nil {
            guard let installed = self[plugin.identifier] else {
                throw plugin.missingSystemLibrary
                    ?? PluginProblem(
                        plugin.libraryPath, .libraryOpens,
                        "there is no library, and no plugin \(plugin.identifier) is installed; build it first")
            }
            return installed
        }
        let ofManifest = Self.warnings(ofLibraryAt: manifestPath)
        plugin.warnings = ofManifest + Self.warnings(ofLibraryAt: plugin.libraryPath).filter { !ofManifest.contains($0) }
        return plugin
    }

    /// Opens a library that a user named by its path, with no manifest to tell of it.
    ///
    /// What the policy says of its identifier holds for it, too. That identifier is known once the library is open: this keeps a denied plugin from
    /// serving, not its library from being mapped.
    public func open(libraryAt path: String) throws(LoadError) -> Plugin {
        try Plugin(contentsOf: path, configuration: PluginConfiguration(), logger: logger) { descriptor throws(PluginProblem) in
            if let objection = policy.objection(to: descriptor.identifier) { throw PluginProblem(path, nil, objection) }
            try LibraryDigest.check(path, against: policy.pins(of: descriptor.identifier))
        }
    }

    /// What is worth a word of a library that a user named by its path: that others can change it.
    public static func warnings(ofLibraryAt path: String) -> [PluginProblem] {
        var trusted = PathTrustPolicy()
        do throws(PluginProblem) {
            _ = try trusted.resolve(path.utf8.first == UInt8(ascii: "/") ? path : ManifestSearch.absolute(path))
        } catch {
            // What is not there is an error of its own when it is opened.
            return error.rule == .filesAreTrusted ? [error] : []
        }
        return []
    }
}
