// SPDX-License-Identifier: Apache-2.0

import Portolan
import PortolanConformance

/// What the argument of `portolan check` names.
enum CheckSubject {
    /// An installed plugin's identifier, a folder or manifest; a library, whose manifest is the one of the same name beside it, where there is one; or
    /// what is built in, by its scheme.
    static func subject(_ argument: String, loads: String?, in folder: CheckFolder) throws(Failure) -> Subject {
        if let builtIn = BuiltInSubject(rawValue: argument) { return try builtIn.subject(loads, in: folder) }
        guard loads == nil else { throw Failure(.usage, "--loads is for what is built in; the URLs of a plugin stand in its manifest") }
        let catalogue = PluginCatalogue()
        guard argument.hasSuffix(".so") else { return Subject(try whole(try PluginArgument.plugin(argument, in: catalogue))) }
        let manifest = argument.dropLast(3) + PluginManifest.fileNameEnd
        guard FileSystem.kind(at: String(manifest)) != nil else { return Subject(library: argument) }
        return Subject(try whole(try PluginArgument.plugin(String(manifest), in: catalogue)))
    }

    /// What loads inside of the plugin's loads go through: what is built in, and the plugin itself, so that `gzip:gzip:…` works.
    static func innerLoader(for subject: Subject) -> @Sendable () -> Loader {
        { [manifest = subject.manifest] in
            let registry = ProtocolRegistry.builtIn()
            // `try?` because why it does not open, the checks tell.
            for handler in (try? manifest?.open())?.handlers ?? [] { registry.register(handler) }
            return Loader(configuration: .default, registry: registry)
        }
    }

    private static func whole(_ plugin: InstalledPlugin) throws(Failure) -> InstalledPlugin {
        try Failure.explaining { () throws(PluginProblem) in try plugin.readingConformance() }
    }
}
