// SPDX-License-Identifier: Apache-2.0

import ArgumentParser

/// `portolan exit-codes`; `portolan help exit-codes` prints the same.
struct ExitCodesCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "exit-codes", abstract: "List the exit statuses and what they mean.", discussion: ExitStatus.table)

    func run() throws {
        SignalHandler.ignoreClosedPipes()
        try StandardOutput.write(ExitStatus.table + "\n")
    }
}
