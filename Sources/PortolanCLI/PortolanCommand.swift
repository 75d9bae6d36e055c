// SPDX-License-Identifier: Apache-2.0

import ArgumentParser

/// `portolan`
struct PortolanCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "portolan", abstract: "Load URLs of every scheme that a handler or plugin serves.",
        discussion: """
            An error is one line on standard error, and an exit status ('portolan help exit-codes').
            Shell completions: 'portolan --generate-completion-script bash' (or zsh, or fish).
            """,
        subcommands: [
            GetCommand.self, ExplainCommand.self, StdioCommand.self, PluginsCommand.self, CheckCommand.self, NewCommand.self,
        ] + ofState + [VersionCommand.self, ExitCodesCommand.self])

    private static var ofState: [any ParsableCommand.Type] {
        #if Persistence
            [CookiesCommand.self]
        #else
            []
        #endif
    }
}
