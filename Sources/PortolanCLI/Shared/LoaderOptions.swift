// SPDX-License-Identifier: Apache-2.0

import ArgumentParser
import Portolan

/// What every command that loads takes.
struct LoaderOptions: ParsableArguments {
    @Option(
        name: .customLong("plugin"), parsing: .singleValue,
        help: ArgumentHelp("Load this plugin library; may be given several times, the last is asked first.", valueName: "path"),
        completion: .file())
    var plugins: [String] = []

    /// A configuration with the plugins' handlers in front. To be asked for once.
    ///
    /// - Parameter tellsLog: whether what loaders and plugins log is written to standard error.
    func configuration(tellsLog: Bool = false) throws(Failure) -> Loader.Configuration {
        LogLines.bootstrap(isVerbose: tellsLog)
        var configuration = Loader.Configuration.default
        for path in plugins.reversed() { configuration.handlers += try PluginLibrary.handlers(at: path) }
        return configuration
    }
}
