// SPDX-License-Identifier: Apache-2.0

import ArgumentParser

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
        exit(run(Array(CommandLine.arguments.dropFirst())).code)
    }

    static func run(_ arguments: [String]) -> ExitStatus {
        // For `help nosuch`, the argument parser would print the help of the whole program.
        if arguments.first == "help", let problem = CommandPath(of: Array(arguments.dropFirst())).problem, arguments != ["help", "help"] {
            Diagnostics.report("\(problem) (see 'portolan help')")
            return .usage
        }
        do {
            var command = try PortolanCommand.parseAsRoot(arguments.first == "--version" ? ["version"] + arguments.dropFirst() : arguments)
            try command.run()
            return .success
        } catch let failure as Failure {
            if let message = failure.message { Diagnostics.report(message) }
            return failure.status
        } catch {
            return handle(error, arguments)
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
        let path = CommandPath(of: arguments)
        let message = path.problem ?? PortolanCommand.message(for: error).split(separator: "\n").joined(separator: " ")
        Diagnostics.report("\(message) (see '\((["portolan", "help"] + path.names).joined(separator: " "))')")
        return .usage
    }
}
