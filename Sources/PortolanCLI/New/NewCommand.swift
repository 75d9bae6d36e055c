// SPDX-License-Identifier: Apache-2.0

import ArgumentParser

/// `portolan new`
struct NewCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "new", abstract: "Create a new plugin.", subcommands: [NewPluginCommand.self])
}

/// `portolan new plugin`
struct NewPluginCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "plugin", abstract: "Create a folder with a new plugin that can be built, loads URLs and has tests.",
        discussion: """
            The command creates a folder with the plugin's name in the current folder. There, 'make' builds the plugin, and 'make test' loads URLs with
            it. The build uses the headers and the kit of the checkout or the installation that this command belongs to.
            """)

    @Argument(help: ArgumentHelp("The URL scheme that the plugin serves: 'hello' for hello://world.", valueName: "name"))
    var name: String

    @Option(help: ArgumentHelp("The language: c, c++, swift, rust, or binding (a manifest that binds a C library, without code)."))
    var language: PluginLanguage

    func validate() throws {
        do throws(PluginName.Problem) {
            _ = try PluginName(parsing: name)
        } catch {
            throw ValidationError("the name '\(PlainText.line(String(name.prefix(PluginName.lengthLimit))))' \(error.phrase)")
        }
    }

    func run() throws {
        SignalHandler.ignoreClosedPipes()
        let name = try PluginName(parsing: name)
        try Scaffold(name, in: language, from: .current).write(to: name.scheme)
        try StandardOutput.write(
            """
            \(name.scheme)/ is \(language.phrase); next:
                make -C \(name.scheme) && make -C \(name.scheme) test
                portolan get --plugin \(name.scheme) \(name.scheme)://world

            """)
    }
}
