// SPDX-License-Identifier: Apache-2.0

import ArgumentParser
import Portolan
import PortolanJSON

/// `portolan plugins watch`
struct WatchCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "watch", abstract: "Reload a plugin each time that it is built, and say what is wrong with it.",
        discussion: """
            For development. The plugin is opened and judged as 'validate' does it, and again whenever its manifest or library changes; a build that is
            broken leaves the one before serving. With a URL, that is loaded after each time. Ends at Ctrl-C.
            """)

    @Argument(help: ArgumentHelp("A folder or a manifest, or an installed plugin's identifier.", valueName: "path"), completion: .file())
    var path = "."

    @Argument(help: "What to load after each change.")
    var url: String?

    @Option(
        name: .customLong("changes"),
        help: ArgumentHelp("End after so many changes, with exit status 107 where the last build cannot be used.", valueName: "n"))
    var limit: Int?

    @Flag(name: .customLong("json"), help: "Print each event as JSON, on a line of its own.")
    var isJSON = false

    func validate() throws {
        if let limit, limit < 0 { throw ValidationError("--changes is a number of changes, 0 or more") }
    }

    func run() throws {
        LogLines.bootstrap(isVerbose: false)
        // fork(2) must come before other threads.
        let helper = try OpeningHelper { [path] in Self.problem(of: path) }
        try SignalHandler.observe { SignalHandler.leave($0) }
        let request = try url.map { text throws(Failure) in try Request(argument: text) }
        let catalogue = PluginCatalogue()
        var plugin = try PluginArgument.plugin(path, in: catalogue)
        // A build that overwrites the last one must not affect running loads.
        plugin.copiesLibrary = true
        let registry = ProtocolRegistry.builtIn()
        catalogue.register(in: registry)
        let bench = PluginWorkspace(
            RegisteredPlugin(plugin, in: registry), on: Loader(configuration: .default, registry: registry), request: request, helper,
            isJSON: isJSON)
        try bench.watch(atMost: limit)
        if !bench.isServingNewest { throw Failure(.pluginNotLoadable, nil) }
    }

    /// Returns why opening the plugin at `path` does not return. Other problems appear when this process opens the
    /// plugin.
    private static func problem(of path: String) -> String? {
        do throws(Failure) {
            let problems = try OpeningProcess.problems(of: try PluginArgument.plugin(path, in: PluginCatalogue()))
            return problems.isEnd ? problems.list.first : nil
        } catch {
            return nil
        }
    }
}
