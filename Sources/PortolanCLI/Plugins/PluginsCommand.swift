// SPDX-License-Identifier: Apache-2.0

import ArgumentParser
import Portolan
import PortolanJSON
import PortolanPlugins

/// `portolan plugins`
struct PluginsCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "plugins", abstract: "Show the installed plugins and their problems.",
        discussion: """
            The command looks for plugins in the folders of PORTOLAN_PLUGIN_PATH, in portolan/plugins of $XDG_DATA_HOME (or ~/.local/share), in
            /usr/local/lib/portolan/plugins and /usr/lib/portolan/plugins, and in the folder plugins beside the executable. Each plugin has its own
            folder: NAME/NAME.plugin.json with its library.
            """,
        subcommands: [ListCommand.self, InspectCommand.self, ValidateCommand.self, WatchCommand.self, SchemaCommand.self],
        defaultSubcommand: ListCommand.self)
}

/// `portolan plugins schema`
struct SchemaCommand: ParsableCommand {
    static let configuration = CommandConfiguration(commandName: "schema", abstract: "Print the JSON Schema of a plugin's manifest.")

    @Flag(name: .customLong("json"), help: "Print the schema on one line.")
    var isJSON = false

    func run() throws {
        SignalHandler.ignoreClosedPipes()
        guard isJSON else { return try StandardOutput.write(PluginManifest.schema) }
        try StandardOutput.write(JSONParser.parse(Array(PluginManifest.schema.utf8)))
    }
}
