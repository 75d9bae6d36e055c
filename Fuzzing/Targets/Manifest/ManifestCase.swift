// SPDX-License-Identifier: Apache-2.0

import Portolan
import PortolanPlugins

/// Parses a manifest. Either it is rejected with a position inside the file and a message of one line, or its values
/// follow the rules, and the manifest does not change when it is written as plain JSON and parsed again.
enum ManifestCase {
    private static let path = "fuzz.plugin.json"

    static func check(_ input: [UInt8]) throws(FuzzFinding) {
        let manifest: PluginManifest
        do throws(PluginProblem) {
            manifest = try PluginManifest(parsing: input, path: path)
        } catch {
            return try check(error, of: input)
        }
        try check(manifest)
        // A binding is parsed and validated, but not written.
        guard !manifest.bindsLibrary else { return }
        let text = ManifestGenerator(manifest).text
        for bytes in [Array(text.utf8), Array("/* before */ \(text) // after".utf8), Array("\u{FEFF}\t\(text)\r\n".utf8)] {
            let reparsedManifest: PluginManifest
            do throws(PluginProblem) {
                reparsedManifest = try PluginManifest(parsing: bytes, path: path)
            } catch {
                throw FuzzFinding(
                    "the manifest is refused when it is written and parsed again, \(error): \(String(decoding: bytes, as: UTF8.self))")
            }
            try require(reparsedManifest == manifest, "the manifest changes when it is written and parsed again: \(text)")
        }
    }

    private static func check(_ problem: PluginProblem, of input: [UInt8]) throws(FuzzFinding) {
        let text = problem.description
        try require(
            !text.unicodeScalars.contains { $0.properties.generalCategory == .control }, "the error has control characters: \(text)")
        try require(text.hasPrefix(path) && text.utf8.count <= 4096, "the error does not begin with the path, or is too long: \(text)")
        try require(problem.rule?.id == "MANIF-01", "the error names the rule \(problem.rule?.id ?? "-"): \(text)")
        guard let line = problem.line, let column = problem.column else { return }
        let lines = input.count(where: { $0 == 0x0A || $0 == 0x0D || $0 == 0xA8 || $0 == 0xA9 }) + 1
        try require(
            (1...lines).contains(line) && (1...input.count + 1).contains(column), "the error's position is not in the file: \(text)")
    }

    private static func check(_ manifest: PluginManifest) throws(FuzzFinding) {
        let labels = manifest.identifier.split(separator: ".", omittingEmptySubsequences: false)
        try require(
            labels.count > 1 && labels.allSatisfy { !$0.isEmpty }, "\(manifest.identifier.debugDescription) is not a reverse DNS name")
        let version = manifest.version
        try require(SemanticVersion(version.description) == version, "the version \(version) does not round-trip")
        try require(!(version < version), "the version \(version) is less than itself")
        if let range = manifest.hostVersions {
            try require(
                VersionRange(range.text)?.contains(version) == range.contains(version), "the range '\(range.text)' does not round-trip")
        }
        let components = manifest.library.utf8.split(separator: UInt8(ascii: "/"), omittingEmptySubsequences: false)
        let isInsideFolder = components.allSatisfy { !$0.isEmpty && Substring($0) != ".." }
        try require(isInsideFolder, "the library \(manifest.library.debugDescription) lies outside the manifest's folder")
        if let digest = manifest.sha256 {
            let isDigest = digest.utf8.count == 64 && digest.utf8.allSatisfy { "0123456789abcdef".utf8.contains($0) }
            try require(isDigest, "\(digest.debugDescription) is not a SHA-256 digest")
        }
        if case .only(let schemes) = manifest.schemes {
            try require(!schemes.isEmpty && Set(schemes).count == schemes.count, "the schemes \(schemes) are empty, or one occurs twice")
            for scheme in schemes {
                let url = try? URLRecord(parsing: "\(scheme)://host/")
                try require(url.map { $0.scheme == scheme } ?? false, "\(scheme.debugDescription) is not a scheme")
            }
        }
        let names = manifest.settings.map(\.name)
        try require(
            names == names.sorted() && Set(names).count == names.count, "the settings \(names) are out of order, or one occurs twice")
        for setting in manifest.settings { try check(setting) }
        for load in manifest.conformance?.loads ?? [] {
            try require((try? URLRecord(parsing: load.url)) != nil, "\(load.url.debugDescription) is not a URL")
        }
    }

    private static func check(_ setting: PluginSetting) throws(FuzzFinding) {
        let (minimum, maximum) = (setting.minimum ?? -.infinity, setting.maximum ?? .infinity)
        try require(minimum <= maximum, "the setting '\(setting.name)' allows no value")
        let isDefaultValid =
            switch (setting.kind, setting.defaultValue) {
            case (_, nil), (.string, .text), (.boolean, .boolean): true
            case (.integer, .integer(let value)): (minimum...maximum).contains(Double(value))
            case (.number, .real(let value)): value.isFinite && (minimum...maximum).contains(value)
            default: false
            }
        try require(isDefaultValid, "the setting '\(setting.name)' has the invalid default \(String(describing: setting.defaultValue))")
    }
}
