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
            VersionCommand.self,
            ExitCodesCommand.self,
        ])
}
