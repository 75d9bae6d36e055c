// SPDX-License-Identifier: Apache-2.0

import ArgumentParser
import Portolan
import PortolanHandlers
import PortolanJSON
import PortolanPlugins

/// `portolan plugins list`
struct ListCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "list", abstract: "List the installed plugins and their problems.",
        discussion: "The list shows the contents of the manifests. No library is loaded.")

    @Flag(name: .customLong("json"), help: "Print JSON, on one line.")
    var isJSON = false

    func run() throws {
        SignalHandler.ignoreClosedPipes()
        let catalogue = PluginCatalogue()
        if isJSON {
            try StandardOutput.write([
                "plugins": .array(catalogue.plugins.map(\.summary)),
                "problems": .array(catalogue.problems.map { .string($0.description) }),
            ])
        } else {
            try StandardOutput.write(Self.table(of: catalogue))
        }
    }

    private static func table(of catalogue: PluginCatalogue) -> String {
        let rows = catalogue.plugins.map { plugin in
            [
                plugin.identifier, plugin.manifest.version.description, plugin.manifest.schemes.shortText,
                plugin.problem == nil ? plugin.folder : "not used",
            ]
        }
        let widths = rows.reduce([0, 0, 0, 0]) { widths, row in zip(widths, row).map { max($0, $1.count) } }
        let lines = rows.map { row in
            let padded = zip(row, widths).map { text, width in text + String(repeating: " ", count: width - text.count) }
            return PlainText.line(padded.joined(separator: "  ").trimmingTrailingSpaces)
        }
        let count = catalogue.plugins.count { $0.problem == nil }
        let problems = catalogue.problems.map { PlainText.line("problem: \($0)") }
        let total =
            String(count, of: "plugin") + (problems.isEmpty ? "" : ", " + String(problems.count, of: "problem"))
        return (lines + problems + [total]).map { $0 + "\n" }.joined()
    }
}

extension String {
    fileprivate var trimmingTrailingSpaces: String {
        String(reversed().drop { $0 == " " }.reversed())
    }
}

extension SchemeSet {
    /// The schemes as `a: b:`, or `any scheme`.
    var shortText: String {
        switch self {
        case .any: "any scheme"
        case .only(let schemes): schemes.map { $0 + ":" }.joined(separator: " ")
        }
    }

    var json: JSONValue {
        switch self {
        case .any: "any"
        case .only(let schemes): .array(schemes.map(JSONValue.string))
        }
    }
}

extension InstalledPlugin {
    /// The plugin's entry in a list, as JSON.
    var summary: JSONValue {
        [
            "identifier": .string(identifier), "name": .string(manifest.name), "vendor": .string(manifest.vendor),
            "version": .string(manifest.version.description), "schemes": manifest.schemes.json, "manifest": .string(manifestPath),
            "library": .string(libraryPath), "problem": .text(problem?.description),
        ]
    }
}
