// SPDX-License-Identifier: Apache-2.0

import ArgumentParser
import Portolan
import PortolanPlugins

/// Options of every command that makes a loader.
struct LoaderOptions: ParsableArguments {
    @Option(
        name: .customLong("plugin"), parsing: .singleValue,
        help: ArgumentHelp(
            "Load this plugin: a library, a manifest or a folder. Can be repeated. The last plugin has precedence.", valueName: "path"),
        completion: .file())
    var plugins: [String] = []

    @Option(
        name: .customLong("setting"), parsing: .singleValue,
        help: ArgumentHelp("Change a setting of a plugin. Can be repeated.", valueName: "identifier:name=value"))
    var settings: [PluginSettingArgument] = []

    @Flag(name: .customLong("no-plugins"), help: "Ignore installed plugins.")
    var ignoresInstalledPlugins = false

    /// Makes the parts of the loader. Call this function once.
    ///
    /// - Parameters:
    ///   - replay: the recording from which responses come.
    ///   - http: the built-in handler for `http:` and `https:`; plugins take precedence over it.
    ///   - showsLog: whether standard error gets the log of loaders and plugins.
    func setUp(replay: ReplayOptions, http: HTTPHandler = HTTPHandler(), showsLog: Bool = false) throws(Failure) -> LoaderSetup {
        LogLines.bootstrap(isVerbose: showsLog)
        var catalogue = PluginCatalogue(searching: ignoresInstalledPlugins ? PluginSearchPath([String]()) : .standard)
        let namedPlugins = try plugins.map { path throws(Failure) in try NamedPlugin(at: path, in: catalogue) }
        for setting in settings where !namedPlugins.contains(where: { $0.identifier == setting.identifier }) {
            try Failure.explaining { () throws(PluginProblem) in
                try catalogue.set(setting.name, of: setting.identifier, to: setting.value)
            }
        }
        var configuration = Loader.Configuration()
        for plugin in namedPlugins.reversed() { configuration.handlers += try plugin.handlers(with: settings, in: catalogue) }
        let replay = try replay.open()
        if let replay { configuration.handlers.insert(replay.handler, at: 0) }
        let registry = ProtocolRegistry.withBuiltInHandlers(http: http)
        catalogue.register(in: registry)
        return LoaderSetup(configuration: configuration, registry: registry, unusablePlugins: catalogue.unusablePlugins, replay: replay)
    }
}

/// `identifier:name=value`
struct PluginSettingArgument: ExpressibleByArgument {
    let identifier: String
    let name: String
    let value: String

    init?(argument: String) {
        guard let colon = argument.firstIndex(of: ":"), let equals = argument[colon...].firstIndex(of: "=") else { return nil }
        identifier = String(argument[..<colon])
        name = String(argument[argument.index(after: colon)..<equals])
        value = String(argument[argument.index(after: equals)...])
        guard !identifier.isEmpty, !name.isEmpty else { return nil }
    }
}

/// The parts of a command's loader.
struct LoaderSetup {
    var configuration: Loader.Configuration
    /// The handlers that `configuration` does not contain: built-in handlers and installed plugins.
    let registry: ProtocolRegistry
    /// The problems of installed plugins that cannot be used.
    let unusablePlugins: [PluginProblem]
    /// The recording to write after all loads.
    let replay: ReplayFile?

    var loader: Loader { Loader(configuration: configuration, registry: registry) }
}
