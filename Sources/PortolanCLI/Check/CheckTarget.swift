// SPDX-License-Identifier: Apache-2.0

import Portolan
import PortolanConformance
import PortolanFileSystem
import PortolanPlugins

/// Resolves the argument of `portolan check`.
enum CheckTarget {
    /// Returns the target that the argument names: by the identifier of an installed plugin, a folder, a manifest, a
    /// library, or the scheme of a built-in handler.
    ///
    /// The manifest of a library is the one in the same folder that names it, as for ``PluginArgument``. If there is
    /// none, it is the file with the same base name, if that file exists.
    ///
    /// - Parameter loads: the path that `--loads` gives. The file lists the URLs with which a built-in handler is
    ///   checked.
    static func target(_ argument: String, loads: String?, in folder: RunFolder) throws(Failure) -> ConformanceTarget {
        if let builtIn = BuiltInTarget(rawValue: argument) { return try builtIn.target(loads, in: folder) }
        guard loads == nil else { throw Failure(.usage, "--loads is for built-in schemes; the URLs of a plugin are in its manifest") }
        try refuseSource(argument)
        let catalogue = PluginCatalogue()
        guard let base = libraryBase(argument) else { return try target(argument, library: nil, in: catalogue) }
        let exists = FileSystem.kind(at: argument) != nil
        var (namingManifest, problem) = (String?.none, PluginProblem?.none)
        do throws(PluginProblem) {
            if exists { namingManifest = try PluginCatalogue.manifestPath(ofLibraryAt: argument) }
        } catch {
            problem = error
        }
        if let namingManifest { return try target(namingManifest, library: argument, in: catalogue) }
        let manifest = base + PluginManifest.fileNameEnd
        if FileSystem.kind(at: String(manifest)) != nil { return try target(String(manifest), library: argument, in: catalogue) }
        guard exists else { throw Failure(.pluginNotLoadable, "\(argument): there is no such file") }
        // The invalid manifest can be the one that names the library.
        if let problem, isReportedByRunner(problem) { return ConformanceTarget(problem, library: argument) }
        return ConformanceTarget(library: argument)
    }

    /// Whether the conformance runner reports the problem. It reports an invalid manifest. This command reports a
    /// missing manifest.
    private static func isReportedByRunner(_ problem: PluginProblem) -> Bool {
        guard let rule = problem.rule, ["MANIF-01", "MANIF-07"].contains(rule.id), case .regular? = FileSystem.kind(at: problem.path) else {
            return false
        }
        return true
    }

    /// Throws an error if the argument is a source file of a plugin. Without this check, the file would be read as a
    /// manifest.
    private static func refuseSource(_ argument: String) throws(Failure) {
        guard let dot = argument.lastIndex(of: "."), case .regular? = FileSystem.kind(at: argument) else { return }
        let language: String
        switch argument[dot...].lowercased() {
        case ".c", ".h": language = "C"
        case ".cc", ".cpp", ".cxx", ".hpp": language = "C++"
        case ".swift": language = "Swift"
        case ".rs": language = "Rust"
        default: return
        }
        throw Failure(
            .usage,
            "'\(argument)' is \(language) source, and check needs the built plugin; build it, and name its .so, its manifest or its folder")
    }

    /// Returns `tide` for `tide.so` and for `tide.so.1.2`; `nil` if the path does not name a library.
    private static func libraryBase(_ argument: String) -> Substring? {
        let end = argument.lastIndex { !$0.isNumber && $0 != "." }.map { argument.index(after: $0) } ?? argument.startIndex
        let base = argument[..<end]
        let version = argument[end...]
        guard base.hasSuffix(".so"), version.isEmpty || (version.hasPrefix(".") && version.count > 1) else { return nil }
        return base.dropLast(3)
    }

    /// - Parameter library: the path of the library, which is checked without a manifest if the manifest is not
    ///   readable.
    private static func target(_ argument: String, library: String?, in catalogue: PluginCatalogue) throws(Failure) -> ConformanceTarget {
        do throws(PluginProblem) {
            let installed = argument.contains("/") ? nil : catalogue[argument]
            let plugin = if let installed { installed } else { try catalogue.plugin(at: argument) }
            return ConformanceTarget(try plugin.readingConformance())
        } catch {
            if isReportedByRunner(error) { return ConformanceTarget(error, library: library) }
            return try Failure.explaining { () throws(PluginProblem) in throw error }
        }
    }

    /// Returns a function that makes a loader for nested loads. The loader has the built-in handlers and the plugin
    /// itself, so that `gzip:gzip:…` works.
    static func nestedLoader(for target: ConformanceTarget) -> @Sendable () -> Loader {
        { [manifest = target.manifest] in
            let registry = ProtocolRegistry.withBuiltInHandlers()
            if var plugin = manifest {
                // The plugin is opened when a nested URL needs it, from a copy of the library. The copy shares no
                // static memory with the library that is checked.
                plugin.copiesLibrary = true
                _ = RegisteredPlugin(plugin, in: registry)
            }
            return Loader(configuration: .init(), registry: registry)
        }
    }
}
