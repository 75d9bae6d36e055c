// SPDX-License-Identifier: Apache-2.0

import PortolanFileSystem

#if Persistence
    import ArgumentParser
    import PortolanJSON

    /// `--cache` and `--cache=FOLDER` in a command line, before the argument parser reads it.
    ///
    /// In the argument parser, an option always has a value. `--cache` and `--cache=` get an empty value. Otherwise the
    /// URL would become the value of `--cache`.
    struct CacheArgument {
        /// The arguments for the parser.
        let arguments: [String]
        /// The argument after `--cache`, if it is a path and no URL. It is probably the folder.
        let misplacedFolder: String?

        init(in arguments: [String]) {
            let command = PortolanCommand.configuration.subcommands.first { $0.configuration.commandName == arguments.first }
            guard let command, arguments.contains("--cache") || arguments.contains("--cache="),
                ["get", "stdio", "cache"].contains(command.configuration.commandName)
            else {
                (self.arguments, misplacedFolder) = (arguments, nil)
                return
            }
            // Describing the options takes a while. It is needed only if `--cache` can be the value of another option.
            let mayBeValue = zip(arguments, arguments.dropFirst()).contains { $0.hasPrefix("-") && $1.hasPrefix("--cache") }
            let options = mayBeValue ? ValueOptions(of: command) : nil
            var (completed, misplaced, isValue): ([String], String?, Bool) = ([], nil, false)
            for (index, argument) in arguments.enumerated() {
                if argument == "--" {
                    completed += arguments[index...]
                    break
                }
                let isCache = !isValue && ["--cache", "--cache="].contains(argument)
                completed += isCache ? ["--cache", ""] : [argument]
                isValue = !isValue && !isCache && options?.takesNextArgument(argument) ?? false
                if isCache, argument == "--cache", let next = arguments.dropFirst(index + 1).first,
                    command == GetCommand.self ? Self.isPath(next) : Self.isNoURL(next),
                    !command.configuration.subcommands.contains(where: { $0.configuration.commandName == next })
                {
                    misplaced = misplaced ?? next
                }
            }
            (self.arguments, misplacedFolder) = (completed, misplaced)
        }

        /// Whether an argument of `get` names a folder. A name alone, such as `example.org`, is a URL unless the folder
        /// exists.
        private static func isPath(_ argument: String) -> Bool {
            ["/", "./", "../", "~"].contains(where: argument.hasPrefix) || [".", ".."].contains(argument)
                || isNoURL(argument) && FileSystem.kind(at: argument) == .directory
        }

        private static func isNoURL(_ argument: String) -> Bool {
            !argument.isEmpty && !argument.hasPrefix("-") && !argument.contains(":")
        }

        /// What is wrong with the command line; `nil` if nothing is.
        var problem: String? {
            misplacedFolder.map {
                "--cache has its folder in the same argument: write '--cache=\($0)'; if '\($0)' is a URL, begin it with 'http://'"
            }
        }
    }

    /// The options of a command that can take the next argument as their value.
    private struct ValueOptions {
        private var longNames: Set<String> = []
        private var letters: Set<Character> = []

        init(of command: any ParsableCommand.Type) {
            // `try?` because the parser writes valid JSON.
            if let help = try? JSONParser.parse(Array(command._dumpHelp().utf8)) { add(help["command"]) }
        }

        private mutating func add(_ command: JSONValue?) {
            for argument in Self.elements(command?["arguments"]) where argument["kind"] == .string("option") {
                for name in Self.elements(argument["names"]) {
                    guard case .string(let text)? = name["name"] else { continue }
                    if name["kind"] == .string("short") { letters.formUnion(text) } else { longNames.insert(text) }
                }
            }
            for subcommand in Self.elements(command?["subcommands"]) { add(subcommand) }
        }

        private static func elements(_ value: JSONValue?) -> [JSONValue] {
            if case .array(let elements)? = value { elements } else { [] }
        }

        func takesNextArgument(_ argument: String) -> Bool {
            if argument.hasPrefix("--") { return longNames.contains(String(argument.dropFirst(2))) }
            guard argument.hasPrefix("-") else { return false }
            // Letters are flags until the first option with a value. Its value is the rest of the argument or, if there
            // is no rest, the next argument.
            let rest = argument.dropFirst().drop { !letters.contains($0) }
            return rest.count == 1
        }
    }
#endif
