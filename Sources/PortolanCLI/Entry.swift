// SPDX-License-Identifier: Apache-2.0

import ArgumentParser
import PortolanFileSystem

#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#endif

/// The program: reads the command line, runs the command, and turns an error into one line and an exit status.
@main
enum Entry {
    static func main() {
        Descriptor.reserveStandardDescriptors()
        if let number = firstArgumentThatIsNotUTF8 {
            Diagnostics.report("argument \(number) is not UTF-8; encode other bytes with % in URLs, and put data into a file (-d @FILE)")
            exit(ExitStatus.usage.code)
        }
        exit(run(Array(CommandLine.arguments.dropFirst())).code)
    }

    /// The number of the first argument that ``CommandLine/arguments`` would change; `nil` if there is none.
    private static var firstArgumentThatIsNotUTF8: Int? {
        (1..<max(1, Int(CommandLine.argc))).first { index in
            unsafe CommandLine.unsafeArgv[index].map { unsafe String(validatingCString: $0) == nil } ?? false
        }
    }

    static func run(_ arguments: [String]) -> ExitStatus {
        #if Persistence
            let cache = CacheArgument(in: arguments)
            if let problem = cache.problem { return report(problem, arguments) }
            let arguments = cache.arguments
        #endif
        if arguments.first == "help" { return showHelp(arguments) }
        do {
            if arguments.first == "get" {
                try runGet(arguments)
            } else {
                var command = try PortolanCommand.parseAsRoot(
                    arguments.first == "--version" ? ["version"] + arguments.dropFirst() : arguments)
                try command.run()
            }
            return .success
        } catch let failure as Failure {
            if let message = failure.message { Diagnostics.report(message) }
            return failure.status
        } catch {
            return handle(error, arguments)
        }
    }

    /// Runs the operations of `get`.
    private static func runGet(_ arguments: [String]) throws {
        var operations: [GetCommand] = []
        let getArguments = try GetArguments(Array(arguments.dropFirst()))
        for operation in getArguments.operations {
            // `get` is parsed as a root command first, because the argument parser makes the options of a subcommand
            // twice as often. `try?` because the second parse throws the same error, or the help, with the full name
            // `portolan get`.
            if let get = (try? GetCommand.parseAsRoot(operation)) as? GetCommand {
                operations.append(get)
                continue
            }
            var command = try PortolanCommand.parseAsRoot(["get"] + operation)
            guard let get = command as? GetCommand else { return try command.run() }
            operations.append(get)
        }
        try GetCommand.run(operations, warnings: getArguments.warnings)
    }

    /// Prints the help of the command that the arguments name. The arguments from the first option on are ignored.
    private static func showHelp(_ arguments: [String]) -> ExitStatus {
        let names = arguments.prefix { !$0.hasPrefix("-") }
        // For `help nosuch`, the argument parser would print the help of the whole program.
        if let problem = CommandPath(of: Array(names.dropFirst())).problem, names != ["help", "help"] {
            Diagnostics.report("\(problem) (see 'portolan help')")
            return .usage
        }
        do {
            var command = try PortolanCommand.parseAsRoot(Array(names))
            try command.run()
            return .success
        } catch {
            return handle(error, Array(names))
        }
    }

    /// Prints the help if the user requested it, or reports the error in the command line.
    private static func handle(_ error: any Error, _ arguments: [String]) -> ExitStatus {
        guard PortolanCommand.exitCode(for: error) != .success else {
            SignalHandler.ignoreClosedPipes()
            // `try?` because it is not an error if the reader closes the output of the help.
            try? StandardOutput.write(PortolanCommand.fullMessage(for: error) + "\n")
            return .success
        }
        return report(PortolanCommand.message(for: error).split(separator: "\n").joined(separator: " "), arguments)
    }

    /// Reports an error in the command line.
    private static func report(_ problem: String, _ arguments: [String]) -> ExitStatus {
        let path = CommandPath(of: arguments)
        let message = VisibleArguments.hideSecrets(of: arguments, in: path.problem ?? problem)
        Diagnostics.report("\(message) (see '\((["portolan", "help"] + path.names).joined(separator: " "))')")
        return .usage
    }
}
