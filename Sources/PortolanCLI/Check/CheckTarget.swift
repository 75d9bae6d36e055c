// SPDX-License-Identifier: Apache-2.0

import Portolan
import PortolanConformance

/// What the argument of `portolan check` names.
enum CheckTarget {
    /// An installed plugin's identifier, a folder or manifest; a library, whose manifest is the one of the same name beside it, where there is one; or
    /// what is built in, by its scheme.
    static func target(_ argument: String, loads: String?, in folder: RunFolder) throws(Failure) -> ConformanceTarget {
        if let builtIn = BuiltInTarget(rawValue: argument) { return try builtIn.target(loads, in: folder) }
        guard loads == nil else { throw Failure(.usage, "--loads is for what is built in; the URLs of a plugin stand in its manifest") }
        let catalogue = PluginCatalogue()
        guard let base = libraryBase(argument) else { return try target(argument, library: nil, in: catalogue) }
        let manifest = base + PluginManifest.fileNameEnd
        guard FileSystem.kind(at: String(manifest)) != nil else {
            guard FileSystem.kind(at: argument) != nil else { throw Failure(.pluginNotLoadable, "\(argument): there is no such file") }
            return ConformanceTarget(library: argument)
        }
        return try target(String(manifest), library: argument, in: catalogue)
    }

    /// Of a library's path, `tide` of `tide.so` as of `tide.so.1.2`; `nil` for what is not called so.
    private static func libraryBase(_ argument: String) -> Substring? {
        let end = argument.lastIndex { !$0.isNumber && $0 != "." }.map { argument.index(after: $0) } ?? argument.startIndex
        let base = argument[..<end]
        let version = argument[end...]
        guard base.hasSuffix(".so"), version.isEmpty || (version.hasPrefix(".") && version.count > 1) else { return nil }
        return base.dropLast(3)
    }

    /// - Parameter library: what is judged by itself where the manifest can't be read.
    private static func target(_ argument: String, library: String?, in catalogue: PluginCatalogue) throws(Failure) -> ConformanceTarget {
        do throws(PluginProblem) {
            let installed = argument.contains("/") ? nil : catalogue[argument]
            let plugin = if let installed { installed } else { try catalogue.plugin(at: argument) }
            return ConformanceTarget(try plugin.readingConformance())
        } catch {
            // A manifest with a fault is what a judge is for; one that is not there is the command's.
            let isJudged = error.rule.map { ["MANIF-01", "MANIF-07"].contains($0.id) } ?? false
            if isJudged, case .regular? = FileSystem.kind(at: error.path) { return ConformanceTarget(error, library: library) }
            return try Failure.explaining { () throws(PluginProblem) in throw error }
        }
    }

    /// What loads inside of the plugin's loads go through: what is built in, and the plugin itself, so that `gzip:gzip:…` works.
    static func innerLoader(for target: ConformanceTarget) -> @Sendable () -> Loader {
        { [manifest = target.manifest] in
            let registry = ProtocolRegistry.builtIn()
            if var plugin = manifest {
                // Opened where an inner URL asks for it, and as a copy: what it keeps in static memory is not to reach the one that is judged.
                plugin.copiesLibrary = true
                _ = RegisteredPlugin(plugin, in: registry)
            }
            return Loader(configuration: .default, registry: registry)
        }
    }
}
