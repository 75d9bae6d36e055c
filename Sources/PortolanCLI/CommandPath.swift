// SPDX-License-Identifier: Apache-2.0

import ArgumentParser
import PortolanPlugins

/// The commands that a command line names, as in `plugins watch`.
struct CommandPath {
    let names: [String]
    /// The argument in the place of a command name if no command has this name; otherwise `nil`.
    private let unknownName: String?
    private let knownNames: [String]

    init(of arguments: [String]) {
        var commands = PortolanCommand.configuration.subcommands
        var names: [String] = []
        for argument in arguments {
            guard let command = commands.first(where: { $0.configuration.commandName == argument }) else { break }
            commands = command.configuration.subcommands
            names.append(argument)
        }
        let next = arguments.dropFirst(names.count).first
        unknownName = commands.isEmpty || next?.hasPrefix("-") == true ? nil : next
        knownNames = commands.compactMap { $0.configuration.commandName }
        self.names = names
    }

    /// The error message for an unknown command, which proposes a similar one; `nil` if no command is unknown.
    var problem: String? {
        guard let unknownName else { return nil }
        var proposal: [String]?
        if let name = NameSuggestion.closest(to: unknownName, among: knownNames) {
            proposal = names + [name]
        } else if names.isEmpty, unknownName.contains(":") {
            proposal = ["get", unknownName]
        }
        let hint = proposal.map { "; did you mean 'portolan \($0.joined(separator: " "))'?" } ?? ""
        return "there is no command '\((names + [unknownName]).joined(separator: " "))'\(hint)"
    }
}
