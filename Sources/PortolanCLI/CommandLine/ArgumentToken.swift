// SPDX-License-Identifier: Apache-2.0

/// An option of a command line with its value, or an argument that belongs to no option.
enum ArgumentToken: Equatable {
    /// - Parameters:
    ///   - name: with its hyphens.
    ///   - value: `nil` for a flag, and for an option whose value is missing.
    case option(String, String?)
    case argument(String)

    var name: String? { if case .option(let name, _) = self { name } else { nil } }

    /// The name of an option whose value is missing; `nil` for any other token, and for `--cache`, whose value is
    /// optional.
    var nameOfOptionWithoutValue: String? {
        guard case .option(let name, nil) = self, name != "--cache", GetCommand.optionsWithValue.contains(name) else { return nil }
        return name
    }

    /// Splits the arguments of `get` as curl does: letters after one hyphen are flags until an option with a value,
    /// whose value is the rest of the argument or the next argument.
    static func tokens(of arguments: [String]) -> [ArgumentToken] {
        var tokens: [ArgumentToken] = []
        var rest = arguments[...]
        while let argument = rest.popFirst() {
            if argument == "--" {
                tokens += rest.map { .argument($0) }
                return tokens
            }
            if argument.hasPrefix("--") {
                tokens.append(longOption(argument, &rest))
            } else if argument.hasPrefix("-"), argument.count > 1 {
                tokens += shortOptions(argument, &rest)
            } else {
                tokens.append(.argument(argument))
            }
        }
        return tokens
    }

    private static func longOption(_ argument: String, _ rest: inout ArraySlice<String>) -> ArgumentToken {
        if let equals = argument.firstIndex(of: "=") {
            let name = String(argument[..<equals])
            // A flag with a value stays one token, so that the argument parser reports it.
            guard GetCommand.optionsWithValue.contains(name) else { return .option(argument, nil) }
            return .option(name, String(argument[argument.index(after: equals)...]))
        }
        return .option(argument, GetCommand.optionsWithValue.contains(argument) ? rest.popFirst() : nil)
    }

    private static func shortOptions(_ argument: String, _ rest: inout ArraySlice<String>) -> [ArgumentToken] {
        var tokens: [ArgumentToken] = []
        var letters = argument.dropFirst()
        while let letter = letters.popFirst() {
            let name = "-\(letter)"
            if let longName = longNames[name] {
                tokens.append(.option(longName, nil))
            } else if GetCommand.optionsWithValue.contains(name) {
                tokens.append(.option(name, letters.isEmpty ? rest.popFirst() : String(letters)))
                break
            } else {
                tokens.append(.option(name, nil))
            }
        }
        return tokens
    }

    /// The long names of short options that the argument parser does not support.
    private static let longNames = ["-0": "--http1.0", "-4": "--ipv4", "-6": "--ipv6", "-#": "--progress-bar", "-:": "--next"]

    /// The arguments for the parser.
    var arguments: [String] {
        switch self {
        case .argument(let text): [text]
        case .option("--cache", nil): ["--cache", ""]
        case .option(let name, nil): [name]
        // The argument parser takes a value that begins with a hyphen for an option.
        case .option(let name, let value?):
            name.hasPrefix("--") && value.hasPrefix("-") ? ["\(name)=\(value)"] : [name, value]
        }
    }
}
