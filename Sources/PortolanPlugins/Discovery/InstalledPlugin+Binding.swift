// SPDX-License-Identifier: Apache-2.0

import Logging
import PortolanBinding
import PortolanCore
import PortolanJSON

extension InstalledPlugin {
    /// The limit of a request's body in bytes, if the plugin reads the whole body before it uses it, as a binding does.
    package var wholeBodyLimit: Int? { manifest.bindsLibrary ? BindingInstance.bodyLimit : nil }

    /// Opens the library of a binding, and creates its handler.
    ///
    /// - Parameter path: the checked path of the library.
    /// - Throws: ``LoadError/Code/pluginNotLoadable`` with the line of the manifest that requires something the library
    ///   lacks; ``LoadError/Code/pluginRefused`` if its setup fails.
    func open(
        _ binding: BindingProgram, at path: String, _ configuration: PluginConfiguration, _ logger: Logger
    ) throws(LoadError) -> Plugin {
        var logger = logger
        logger[metadataKey: "plugin"] = "\(identifier)"
        let library = try SharedLibrary(at: path, copying: copiesLibrary && !manifest.bindsSystemLibrary)
        let instance: BindingInstance
        do throws(BindingError) {
            instance = try unsafe BindingInstance(
                binding, libraryName: manifest.library, settings: configuration.settings, logger: logger
            ) { name in unsafe library.symbol(name) }
        } catch {
            throw LoadError(problem(error))
        }
        try instance.setUp()
        return Plugin(manifest, instance)
    }

    /// Returns the error as a problem (MANIF-07) with its position in the manifest.
    private func problem(_ error: BindingError) -> PluginProblem {
        let path = error.path.inside(.member("binding"))
        // `try?` because the position is optional. It is unknown if the manifest cannot be read now.
        let bytes = try? Folder.contents(of: manifestPath, atMost: PluginManifest.sizeLimit)
        let position = bytes.flatMap { path.nearestPosition(in: $0) }
        return PluginProblem(manifestPath, .bindingIsSound, error.message, at: position)
    }
}
