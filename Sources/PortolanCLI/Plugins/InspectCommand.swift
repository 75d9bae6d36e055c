// SPDX-License-Identifier: Apache-2.0

import ArgumentParser
import Portolan
import PortolanConformance
import PortolanJSON
import PortolanPlugins

/// `portolan plugins inspect`
struct InspectCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "inspect", abstract: "Show the contents of a plugin's manifest.",
        discussion: "The command reads the library to compute its digest. It does not load it.")

    @Argument(help: ArgumentHelp("An identifier, a folder, a manifest or a library.", valueName: "plugin"), completion: .file())
    var plugin: String

    @Flag(name: .customLong("json"), help: "Print JSON, on one line.")
    var isJSON = false

    func run() throws {
        SignalHandler.ignoreClosedPipes()
        let installedPlugin = try PluginArgument.plugin(plugin, in: PluginCatalogue())
        let plugin = try Failure.explaining { () throws(PluginProblem) in try installedPlugin.readingConformance() }
        let digest = plugin.libraryDigest
        if isJSON {
            try StandardOutput.write(Self.json(of: plugin, digest))
        } else {
            try StandardOutput.write(Self.lines(of: plugin, digest).map { PlainText.line($0) + "\n" }.joined())
        }
    }

    private static func permissions(of manifest: PluginManifest) -> [String] {
        manifest.permissions.map(\.rawValue).sorted()
    }

    private static func lines(of plugin: InstalledPlugin, _ digest: String?) -> [String] {
        let manifest = plugin.manifest
        var lines = [
            "\(manifest.name) \(manifest.version), \(manifest.vendor)", manifest.summary, "identifier  \(plugin.identifier)",
            "schemes     \(manifest.schemes.shortText)", "manifest    \(plugin.manifestPath)", "library     \(plugin.libraryPath)",
            "sha256      \(digest ?? "the library cannot be read")\(manifest.sha256 == nil ? "" : manifest.sha256 == digest ? " (as pinned)" : " (not as pinned)")",
            manifest.hostVersions.map { "hosts       \($0.text)" },
            manifest.permissions.isEmpty ? nil : "permissions \(permissions(of: manifest).joined(separator: ", "))",
        ].compactMap { $0 }
        for setting in manifest.settings {
            let value = setting.defaultValue.map { ", default \($0.text)" } ?? (setting.isRequired ? ", required" : "")
            lines.append("setting     \(setting.name): \(setting.kind.rawValue)\(value)\(setting.summary.map { "; " + $0 } ?? "")")
        }
        let loads = manifest.conformance?.loads ?? []
        lines.append("test URLs   \(loads.isEmpty ? "no URL" : String(loads.count, of: "URL"))")
        lines += loads.map { "            \($0.url)" }
        lines += (plugin.warnings + [plugin.problem].compactMap { $0 }).map { "problem     \($0)" }
        return lines
    }

    private static func json(of plugin: InstalledPlugin, _ digest: String?) -> JSONValue {
        guard case .object(var members) = plugin.summary else { return plugin.summary }
        let manifest = plugin.manifest
        let settings = manifest.settings.map { setting -> JSONValue in
            [
                "name": .string(setting.name), "type": .string(setting.kind.rawValue), "default": .scalar(setting.defaultValue),
                "required": .bool(setting.isRequired), "description": .text(setting.summary), "minimum": .real(setting.minimum),
                "maximum": .real(setting.maximum),
            ]
        }
        let more: [(String, JSONValue)] = [
            ("description", .text(manifest.summary)), ("sha256", .text(digest)), ("pinned", .text(manifest.sha256)),
            ("hostVersions", .text(manifest.hostVersions?.text)),
            ("permissions", .array(permissions(of: manifest).map { .string($0) })), ("settings", .array(settings)),
            ("conformance", .array((manifest.conformance?.loads ?? []).map(\.json))),
            ("warnings", .array(plugin.warnings.map { .string($0.description) })),
        ]
        members += more.map { JSONValue.Member(name: $0, value: $1) }
        return .object(members)
    }
}

extension ConformanceLoad {
    fileprivate var json: JSONValue {
        [
            "url": .string(url), "status": .count(status), "mime": .text(mime), "length": .count(length), "sha256": .text(sha256),
            "tags": .array(tags.map(\.rawValue).sorted().map(JSONValue.string)), "error": .text(error),
            "needs": .array(needs.map(JSONValue.string)),
        ]
    }
}

extension PropertyValue {
    /// The value as text.
    fileprivate var text: String {
        switch self {
        case .text(let text): "'\(text)'"
        case .bytes(let bytes): "\(bytes.count) bytes"
        case .integer(let integer): "\(integer)"
        case .real(let real): "\(real)"
        case .boolean(let boolean): "\(boolean)"
        }
    }
}

extension JSONValue {
    fileprivate static func real(_ value: Double?) -> JSONValue { value.map { .number("\($0)") } ?? .null }

    fileprivate static func scalar(_ value: PropertyValue?) -> JSONValue {
        switch value {
        case .text(let text)?: .string(text)
        case .integer(let integer)?: .integer(integer)
        case .real(let real)?: .number("\(real)")
        case .boolean(let boolean)?: .bool(boolean)
        case .bytes?, nil: .null
        }
    }
}
