// SPDX-License-Identifier: Apache-2.0

import ArgumentParser
import Portolan

/// `portolan explain`
struct ExplainCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "explain",
        abstract: "Show which handlers are asked for a URL, in which order, the decision of each, and which handler serves the URL.",
        discussion: "The command does not load the URL.")

    @Argument(help: ArgumentHelp("The URL.", valueName: "url"))
    var url: String

    @Flag(name: .customLong("json"), help: "Print JSON, on one line.")
    var isJSON = false

    @OptionGroup var loader: LoaderOptions
    @OptionGroup var replay: ReplayOptions

    func run() throws {
        SignalHandler.ignoreClosedPipes()
        let setup = try loader.setUp(replay: replay)
        let request = try Request(argument: url, knownSchemes: setup.loader.schemes)
        try request.checkForMissingScheme(on: setup.loader)
        let explanation = Explanation(of: request, by: setup.loader)
        if isJSON {
            try StandardOutput.write(explanation.json)
        } else {
            try StandardOutput.write(explanation.text)
        }
        if let failure = explanation.failure {
            throw failure.suggestingScheme(for: url, among: setup.loader.schemes).mentioning(setup.unusablePlugins)
        }
    }
}
