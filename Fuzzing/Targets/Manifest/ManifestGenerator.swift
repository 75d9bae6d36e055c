// SPDX-License-Identifier: Apache-2.0

import Portolan
import PortolanPlugins

/// Writes a manifest as plain JSON, in ASCII.
struct ManifestGenerator {
    let text: String

    init(_ manifest: PluginManifest) {
        var members = [
            ("identifier", Self.quoted(manifest.identifier)), ("name", Self.quoted(manifest.name)),
            ("vendor", Self.quoted(manifest.vendor)), ("version", Self.quoted(manifest.version.description)),
            ("library", Self.quoted(manifest.library)),
        ]
        members += [
            ("description", manifest.summary.map(Self.quoted)), ("sha256", manifest.sha256.map(Self.quoted)),
            ("hostVersions", manifest.hostVersions.map { Self.quoted($0.text) }),
        ].compactMap { name, value in value.map { (name, $0) } }
        switch manifest.schemes {
        case .any: members.append(("schemes", "\"any\""))
        case .only(let schemes): members.append(("schemes", Self.array(schemes.map(Self.quoted))))
        }
        members.append(("settings", Self.object(manifest.settings.map { ($0.name, Self.setting($0)) })))
        if let conformance = manifest.conformance {
            members.append(("conformance", Self.object([("loads", Self.array(conformance.loads.map(Self.load)))])))
        }
        text = Self.object(members)
    }

    private static func setting(_ setting: PluginSetting) -> String {
        let members: [(String, String?)] = [
            ("type", quoted(setting.kind.rawValue)), ("required", "\(setting.isRequired)"), ("description", setting.summary.map(quoted)),
            ("minimum", setting.minimum.map { "\($0)" }), ("maximum", setting.maximum.map { "\($0)" }),
            ("default", setting.defaultValue.map(value)),
        ]
        return object(members.compactMap { name, value in value.map { (name, $0) } })
    }

    private static func value(_ value: PropertyValue) -> String {
        switch value {
        case .text(let text): quoted(text)
        case .integer(let integer): "\(integer)"
        case .real(let real): "\(real)"
        case .boolean(let boolean): "\(boolean)"
        case .bytes: "null"
        }
    }

    private static func load(_ load: ConformanceLoad) -> String {
        let credential = load.credential.map { object([("username", quoted($0.username)), ("password", quoted($0.password))]) }
        let members: [(String, String?)] = [
            ("url", quoted(load.url)), ("status", load.status.map { "\($0)" }), ("mime", load.mime.map(quoted)),
            ("length", load.length.map { "\($0)" }), ("sha256", load.sha256.map(quoted)),
            ("tags", array(load.tags.map { quoted($0.rawValue) })), ("error", load.error.map(quoted)), ("credential", credential),
            ("needs", array(load.needs.map(quoted))),
        ]
        return object(members.compactMap { name, value in value.map { (name, $0) } })
    }

    private static func object(_ members: [(String, String)]) -> String {
        "{\(members.map { "\(quoted($0)):\($1)" }.joined(separator: ","))}"
    }

    private static func array(_ elements: [String]) -> String { "[\(elements.joined(separator: ","))]" }

    /// Writes each UTF-16 code unit that is not an ASCII letter as an escape.
    private static func quoted(_ text: String) -> String {
        let units = text.utf16.map { unit -> String in
            if let byte = UInt8(exactly: unit), byte < 0x80, Character(Unicode.Scalar(byte)).isLetter { return "\(Unicode.Scalar(byte))" }
            let digits = String(unit, radix: 16)
            return "\\u" + String(repeating: "0", count: 4 - digits.count) + digits
        }
        return "\"\(units.joined())\""
    }
}
