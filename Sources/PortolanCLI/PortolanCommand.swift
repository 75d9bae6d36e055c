// SPDX-License-Identifier: Apache-2.0

import ArgumentParser

/// `portolan`
struct PortolanCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "portolan", abstract: "Load URLs of every scheme for which there is a handler or a plugin.",
        discussion: """
            On failure, portolan prints one line to standard error and exits with a non-zero status ('portolan exit-codes' lists them).
            Shell completions: 'portolan --generate-completion-script bash' (or zsh, or fish).
            """,
        subcommands: [
            GetCommand.self, ExplainCommand.self, StdioCommand.self, PluginsCommand.self, CheckCommand.self, NewCommand.self,
        ] + stateCommands + [VersionCommand.self, ExitCodesCommand.self, CurlCommand.self])

    private static var stateCommands: [any ParsableCommand.Type] {
        #if Persistence
            [CookiesCommand.self, CacheCommand.self, BackgroundCommand.self, TransferdCommand.self]
        #else
            []
        #endif
    }
}
