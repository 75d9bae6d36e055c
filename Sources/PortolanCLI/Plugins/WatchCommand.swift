// SPDX-License-Identifier: Apache-2.0

import ArgumentParser
import Portolan
import PortolanJSON
import PortolanPlugins

/// `portolan plugins watch`
struct WatchCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "watch", abstract: "Reload a plugin after each build, and report its problems.",
        discussion: """
            For development. The command opens and checks the plugin as 'validate' does, and again when its manifest or library has changed. If a
            build cannot be used, the previous build continues to serve. With a URL, it loads the URL each time. Ctrl-C ends the command.
            """)

    @Argument(help: ArgumentHelp("A folder or a manifest, or an installed plugin's identifier.", valueName: "path"), completion: .file())
    var path = "."

    @Argument(help: "The URL to load after each change.")
    var url: String?

    @Option(
        name: .customLong("changes"),
        help: ArgumentHelp("End after this many changes, with exit status 107 if the last build cannot be used.", valueName: "n"))
    var limit: Int?

    @Flag(name: .customLong("json"), help: "Print the events as JSON, one per line.")
    var isJSON = false

    func validate() throws {
        if let limit, limit < 0 { throw ValidationError("--changes: write a number, 0 or more") }
    }

    func run() throws {
        LogLines.bootstrap(isVerbose: false)
        // fork(2) must come before other threads.
        let helper = try OpeningHelper { [path] in Self.problem(of: path) }
        try SignalHandler.observe { $0.exitNow() }
        let request = try url.map { text throws(Failure) in try Request(argument: text) }
        let catalogue = PluginCatalogue()
        var plugin = try PluginArgument.plugin(path, in: catalogue)
        // A build can overwrite the library while loads use it, so the command opens a copy.
        plugin.copiesLibrary = true
        let registry = ProtocolRegistry.withBuiltInHandlers()
        catalogue.register(in: registry)
        let workspace = PluginWorkspace(
            RegisteredPlugin(plugin, in: registry), on: Loader(configuration: .init(), registry: registry), request: request, helper,
            isJSON: isJSON)
        try workspace.watch(atMost: limit)
        if !workspace.servesNewestBuild { throw Failure(.pluginNotLoadable, nil) }
    }

    /// Returns why opening the plugin at `path` does not return; `nil` if it returns. The command reports other
    /// problems when it opens the plugin itself.
    private static func problem(of path: String) -> String? {
        do throws(Failure) {
            let problems = try OpeningProcess.problems(of: try PluginArgument.plugin(path, in: PluginCatalogue()))
            return problems.didNotReturn ? problems.list.first : nil
        } catch {
            return nil
        }
    }
}
