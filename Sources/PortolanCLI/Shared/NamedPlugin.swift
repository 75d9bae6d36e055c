// SPDX-License-Identifier: Apache-2.0

import Portolan
import PortolanFileSystem
import PortolanHandlers
import PortolanPlugins

/// A plugin that `--plugin` names by its library or its manifest.
enum NamedPlugin {
    case library(path: String)
    case installed(InstalledPlugin)

    /// A folder or a path ending in `.json` names a manifest; every other path names a library.
    init(at path: String, in catalogue: PluginCatalogue) throws(Failure) {
        guard path.hasSuffix(".json") || FileSystem.kind(at: path) == .directory else {
            for warning in PluginCatalogue.warnings(ofLibraryAt: path) { Diagnostics.warn("\(warning)") }
            self = .library(path: path)
            return
        }
        let plugin = try Failure.explaining { () throws(PluginProblem) in try catalogue.plugin(at: path) }
        for warning in plugin.warnings { Diagnostics.warn("\(warning)") }
        self = .installed(plugin)
    }

    /// `nil` for a library, whose identifier is unknown until it is opened.
    var identifier: String? {
        if case .installed(let plugin) = self { plugin.identifier } else { nil }
    }

    /// Returns the handlers, the one with the highest precedence first. That is the reverse of the registration order.
    func handlers(with settings: [PluginSettingArgument], in catalogue: PluginCatalogue) throws(Failure) -> [any ProtocolHandler] {
        let values = try values(of: settings)
        do throws(LoadError) {
            switch self {
            case .library(let path): return try catalogue.open(libraryAt: path).handlers.reversed()
            case .installed(let plugin): return try plugin.open(settings: values).handlers.reversed()
            }
        } catch {
            throw Failure(error)
        }
    }

    private func values(of settings: [PluginSettingArgument]) throws(Failure) -> [(name: String, value: PropertyValue)] {
        guard case .installed(let plugin) = self else { return [] }
        return try settings.filter { $0.identifier == plugin.identifier }.map { setting throws(Failure) in
            let value = try Failure.explaining { () throws(PluginProblem) in try plugin.value(of: setting.name, text: setting.value) }
            return (setting.name, value)
        }
    }
}

extension Failure {
    /// Runs `action`, and converts the problem of a plugin to a failure of the command.
    static func explaining<Value>(_ action: () throws(PluginProblem) -> Value) throws(Failure) -> Value {
        do throws(PluginProblem) {
            return try action()
        } catch {
            throw Failure(.pluginNotLoadable, error.description)
        }
    }
}
