// SPDX-License-Identifier: Apache-2.0

import ArgumentParser
import Portolan
import PortolanJSON

/// `portolan version`
struct VersionCommand: ParsableCommand {
    static let configuration = CommandConfiguration(commandName: "version", abstract: "Print the version and the supported schemes.")

    @Flag(name: .customLong("json"), help: "Print JSON, on one line.")
    var isJSON = false

    @OptionGroup var loader: LoaderOptions
    @OptionGroup var replay: ReplayOptions

    func run() throws {
        SignalHandler.ignoreClosedPipes()
        let schemes = try loader.setUp(replay: replay).loader.schemes
        if isJSON {
            try StandardOutput.write(["version": .string(portolanVersion), "schemes": .array(schemes.map(JSONValue.string))])
        } else {
            try StandardOutput.write("portolan \(portolanVersion)\nschemes: \(schemes.joined(separator: " "))\n")
        }
    }
}
