// SPDX-License-Identifier: Apache-2.0

import ArgumentParser
import Portolan
import PortolanFileSystem
import PortolanJSON
import PortolanPlugins

/// `portolan plugins validate`
struct ValidateCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "validate",
        abstract: "Check whether plugins can be used: their manifest, permissions, digest and library, and whether they start.",
        discussion: """
            Each library is loaded in a separate process, and an instance is started with the settings of the manifest and the policy. A plugin that
            does not start within 20 seconds is not valid.
            """
    )

    @Argument(
        help: ArgumentHelp("Identifiers, folders, manifests or libraries; without any, every installed plugin.", valueName: "plugin"),
        completion: .file())
    var plugins: [String] = []

    @Flag(name: .customLong("json"), help: "Print JSON, on one line.")
    var isJSON = false

    func run() throws {
        SignalHandler.ignoreClosedPipes()
        LogLines.bootstrap(isVerbose: false)
        let catalogue = PluginCatalogue()
        let results = plugins.isEmpty ? PluginValidation.all(of: catalogue) : plugins.map { PluginValidation(of: $0, in: catalogue) }
        if isJSON {
            try StandardOutput.write(["plugins": .array(results.map(\.json)), "valid": .bool(results.allSatisfy(\.isValid))])
        } else {
            try StandardOutput.write(results.flatMap(\.lines).map { PlainText.line($0) + "\n" }.joined())
        }
        if !results.allSatisfy(\.isValid) { throw Failure(.pluginNotLoadable, nil) }
    }
}

/// The result of the validation of one plugin.
struct PluginValidation {
    /// The plugin as the user named it, its identifier, or the path of a file that is no plugin.
    let subject: String
    var problems: [String] = []
    var warnings: [String] = []

    var isValid: Bool { problems.isEmpty }

    init(of argument: String, in catalogue: PluginCatalogue) {
        subject = argument
        do throws(Failure) {
            validate(try PluginArgument.plugin(argument, in: catalogue))
        } catch {
            problems.append(error.message ?? error.status.meaning)
        }
    }

    private init(of plugin: InstalledPlugin) {
        subject = plugin.identifier
        validate(plugin)
    }

    private init(_ problem: PluginProblem) {
        subject = problem.path
        problems = [problem.description]
    }

    static func all(of catalogue: PluginCatalogue) -> [Self] {
        catalogue.unusablePlugins.map { Self($0) } + catalogue.plugins.map { Self(of: $0) }
    }

    private mutating func validate(_ plugin: InstalledPlugin) {
        do throws(PluginProblem) {
            warnings = try Self.warnings(of: plugin)
            checkOpening(plugin)
        } catch {
            warnings = plugin.warnings.map(\.description)
            problems.append(error.description)
        }
    }

    /// Returns the warnings about a plugin that can be used.
    ///
    /// - Throws: ``PluginProblem`` if the manifest's conformance section is invalid.
    static func warnings(of plugin: InstalledPlugin) throws(PluginProblem) -> [String] {
        let warnings = plugin.warnings.map(\.description)
        let missing =
            try plugin.readingConformance().manifest.conformance?.missingExamples.map { "its conformance section \($0); add one" }
            ?? ["no conformance section describes the results of its URLs; write one"]
        return warnings + missing.map { "\(plugin.manifestPath): MANIF-05: \($0) for 'portolan check'" }
    }

    /// Opens the plugin in a separate process, and adds the problems.
    private mutating func checkOpening(_ plugin: InstalledPlugin) {
        do throws(Failure) {
            problems += try OpeningProcess.problems(of: plugin).list
        } catch {
            problems.append(error.message ?? error.status.meaning)
        }
    }

    var lines: [String] {
        problems.map { $0.hasPrefix("\(subject):") ? $0 : "\(subject): \($0)" } + warnings.map { "\(subject): warning: \($0)" }
            + (isValid ? ["\(subject): valid"] : [])
    }

    var json: JSONValue {
        [
            "plugin": .string(subject), "valid": .bool(isValid), "problems": .array(problems.map(JSONValue.string)),
            "warnings": .array(warnings.map(JSONValue.string)),
        ]
    }
}

/// Finds the plugin that a command line names.
enum PluginArgument {
    /// Accepts the identifier of an installed plugin, or the path of a folder, manifest or library.
    static func plugin(_ argument: String, in catalogue: PluginCatalogue) throws(Failure) -> InstalledPlugin {
        if !argument.contains("/") {
            if let plugin = catalogue[argument] { return plugin }
            // The identifier in an unreadable manifest is unknown, so each such manifest can belong to this plugin.
            if !catalogue.unusablePlugins.isEmpty, FileSystem.kind(at: argument) == nil {
                let unusablePlugins = catalogue.unusablePlugins.map(\.description).joined(separator: "; ")
                throw Failure(
                    .pluginNotLoadable, "no plugin '\(argument)' is known; it may be one of these, which can't be read: \(unusablePlugins)")
            }
        }
        return try Failure.explaining { () throws(PluginProblem) in try catalogue.plugin(at: argument) }
    }
}
