// SPDX-License-Identifier: Apache-2.0

import ArgumentParser
import Portolan
import PortolanJSON

/// `portolan plugins validate`
struct ValidateCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "validate", abstract: "Check that plugins can be used: manifest, permissions, digest, library, and that they start.",
        discussion: """
            Each library is opened in a process of its own, and an instance is started with the values that the manifest and the policy give it. What does
            not come back within 20 seconds is not valid.
            """
    )

    @Argument(
        help: ArgumentHelp("Identifiers, folders, manifests or libraries; without any, every installed plugin.", valueName: "plugin"),
        completion: .file())
    var plugins: [String] = []

    @Flag(name: .customLong("json"), help: "Print it as JSON, on one line.")
    var isJSON = false

    func run() throws {
        Interruption.ignoreClosedPipes()
        LogLines.bootstrap(isVerbose: false)
        let catalogue = PluginCatalogue()
        let verdicts = plugins.isEmpty ? Verdict.all(of: catalogue) : plugins.map { Verdict(on: $0, in: catalogue) }
        if isJSON {
            try StandardOutput.write(["plugins": .array(verdicts.map(\.json)), "valid": .bool(verdicts.allSatisfy(\.isValid))])
        } else {
            try StandardOutput.write(verdicts.flatMap(\.lines).map { PlainText.line($0) + "\n" }.joined())
        }
        if !verdicts.allSatisfy(\.isValid) { throw Failure(.pluginNotLoadable, nil) }
    }
}

/// What there is to say of one plugin.
struct Verdict {
    let subject: String
    var problems: [String] = []
    var warnings: [String] = []

    var isValid: Bool { problems.isEmpty }

    init(on argument: String, in catalogue: PluginCatalogue) {
        subject = argument
        do throws(Failure) {
            judge(try PluginArgument.plugin(argument, in: catalogue))
        } catch {
            problems.append(error.message ?? error.status.meaning)
        }
    }

    private init(on plugin: InstalledPlugin) {
        subject = plugin.identifier
        judge(plugin)
    }

    private init(_ problem: PluginProblem) {
        subject = problem.path
        problems = [problem.description]
    }

    static func all(of catalogue: PluginCatalogue) -> [Self] {
        catalogue.strays.map { Self($0) } + catalogue.plugins.map { Self(on: $0) }
    }

    private mutating func judge(_ plugin: InstalledPlugin) {
        do throws(PluginProblem) {
            warnings = try Self.warnings(of: plugin)
            open(plugin)
        } catch {
            warnings = plugin.warnings.map(\.description)
            problems.append(error.description)
        }
    }

    /// What is worth a word of a plugin that can be used.
    ///
    /// - Throws: what is wrong with the manifest's conformance section.
    static func warnings(of plugin: InstalledPlugin) throws(PluginProblem) -> [String] {
        let warnings = plugin.warnings.map(\.description)
        guard try plugin.readingConformance().manifest.conformance == nil else { return warnings }
        return warnings + [
            "\(plugin.manifestPath): MANIF-05: no conformance section says what its URLs yield; write one, so that it can be judged"
        ]
    }

    private mutating func open(_ plugin: InstalledPlugin) {
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

/// How a command line names a plugin.
enum PluginArgument {
    /// An installed plugin's identifier, or else the path of a folder, manifest or library.
    static func plugin(_ argument: String, in catalogue: PluginCatalogue) throws(Failure) -> InstalledPlugin {
        if !argument.contains("/") {
            if let plugin = catalogue[argument] { return plugin }
            // A manifest that can't be read does not say whose it is.
            if !catalogue.strays.isEmpty, FileSystem.kind(at: argument) == nil {
                let strays = catalogue.strays.map(\.description).joined(separator: "; ")
                throw Failure(.pluginNotLoadable, "no plugin '\(argument)' is known; it may be one of those that can't be read: \(strays)")
            }
        }
        return try Failure.explaining { () throws(PluginProblem) in try catalogue.plugin(at: argument) }
    }
}
