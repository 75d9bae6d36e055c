// SPDX-License-Identifier: Apache-2.0

package import PortolanBinding
public import PortolanCore
import PortolanJSON

/// The metadata of a plugin in `NAME.plugin.json`. Reading it does not open the plugin's library.
///
///     let manifest = try PluginManifest(parsing: bytes, path: "Template.plugin.json")
public struct PluginManifest: Hashable, Sendable {
    /// The identifier in reverse DNS notation, the same as in the library.
    public let identifier: String
    /// The names to show to people.
    public let name, vendor: String
    public let version: SemanticVersion
    /// One line to show to people.
    public let summary: String?
    /// The path of the library, relative to the manifest's folder. For a binding of a system library, the file name.
    public let library: String
    /// The library's SHA-256 digest in lower-case hexadecimal. `nil` if the manifest does not pin it.
    public let sha256: String?
    /// The schemes of all handlers.
    public let schemes: SchemeSet
    /// The host versions that the plugin supports. `nil` for all.
    public let hostVersions: VersionRange?
    /// The permissions that the plugin requests, and gets.
    public let permissions: Set<PluginPermission>
    /// Sorted by name.
    public let settings: [PluginSetting]
    /// The expected results of loads. `nil` if the manifest has none, or if a search found the manifest: a search does
    /// not read them (``InstalledPlugin/readingConformance()``).
    public let conformance: ConformanceSection?
    /// The program that calls a C library, if the manifest binds one. `nil` if the library is a plugin.
    package let binding: BindingProgram?

    /// Whether the library is not a plugin, but a C library that the manifest binds.
    public var bindsLibrary: Bool { binding != nil }
    /// Whether the library is a system library, which is not in the manifest's folder.
    package var bindsSystemLibrary: Bool { binding?.source.isSystemLibrary == true }

    /// The suffix of manifest file names.
    package static let fileNameEnd = ".plugin.json"
    /// The maximum size of a manifest in bytes.
    package static let sizeLimit = 1 << 20
}

extension PluginManifest {
    static let names = [
        "$schema", "identifier", "name", "vendor", "version", "description", "library", "sha256", "schemes", "hostVersions", "permissions",
        "settings", "conformance", "binding",
    ]

    /// Parses a manifest in JSON5 and UTF-8.
    ///
    /// - Parameters:
    ///   - bytes: the whole text.
    ///   - path: the file's path, for messages.
    /// - Throws: the problem with path, line and column: MANIF-01.
    public init(parsing bytes: [UInt8], path: String) throws(PluginProblem) {
        self = try ManifestProblem.parse(bytes, path: path, .manifestIsValid) { value throws(ManifestProblem) in
            try Self(value, includingConformance: true)
        }
    }

    /// Parses a manifest like ``init(parsing:path:)``, but checks only the JSON5 syntax of ``conformance``. Loads do
    /// not need that section, which is the largest part of a manifest.
    init(withoutConformance bytes: [UInt8], path: String) throws(PluginProblem) {
        self = try ManifestProblem.parse(bytes, path: path, .manifestIsValid, omitting: "conformance") { value throws(ManifestProblem) in
            try Self(value, includingConformance: false)
        }
    }

    private init(_ value: JSONValue, includingConformance: Bool) throws(ManifestProblem) {
        let object = try ManifestObject(value, names: Self.names)
        _ = try object.optional("$schema") { value throws(ManifestProblem) in try value.text() }
        identifier = try object.required("identifier") { value throws(ManifestProblem) in
            try value.text("which is not a reverse DNS name of at most 255 bytes, as in org.example.tide") { Text.isReverseDNS($0) }
        }
        name = try object.required("name") { value throws(ManifestProblem) in try value.line() }
        vendor = try object.required("vendor") { value throws(ManifestProblem) in try value.line() }
        version = try object.required("version") { value throws(ManifestProblem) in
            guard let version = SemanticVersion(try value.text()) else { throw ManifestProblem("is not a semantic version, as in 1.0.0") }
            return version
        }
        summary = try object.optional("description") { value throws(ManifestProblem) in try value.line() }
        let source = try object.optional("binding") { value throws(ManifestProblem) in try BindingSource(value) }
        library = try object.required("library") { value throws(ManifestProblem) in
            if source?.isSystemLibrary == true {
                return try value.text("which is not the file name of a system library, as in libz.so.1") {
                    Self.isPathInsideFolder($0) && !$0.utf8.contains(UInt8(ascii: "/")) && $0.utf8.count <= 255
                }
            }
            return try value.text("which is not a path inside the manifest's folder, without '..' or a leading '/' (MANIF-03)") {
                Self.isPathInsideFolder($0)
            }
        }
        sha256 = try object.optional("sha256") { value throws(ManifestProblem) in try value.sha256() }
        schemes = try object.required("schemes") { value throws(ManifestProblem) in try SchemeSet(value) }
        hostVersions = try object.optional("hostVersions") { value throws(ManifestProblem) in
            guard let range = VersionRange(try value.text()) else {
                throw ManifestProblem("is not a range of versions, as in '>=0.1.0 <1.0.0'")
            }
            return range
        }
        permissions = try object.optional("permissions") { value throws(ManifestProblem) in try Self.permissions(value) } ?? []
        settings =
            try object.optional("settings") { value throws(ManifestProblem) in try Self.settings(value) } ?? []
        let declaredSettings = settings
        binding = try source.map { source throws(ManifestProblem) in try Self.check(source, declaredSettings) }
        if binding != nil, case .any = schemes {
            throw ManifestProblem("is \"any\", but a binding needs the names of its schemes; write them", at: JSONPath()["schemes"])
        }
        if binding != nil, !permissions.isEmpty {
            throw ManifestProblem("has no effect on a binding; remove it", at: JSONPath()["permissions"])
        }
        conformance =
            includingConformance
            ? try object.optional("conformance") { value throws(ManifestProblem) in try ConformanceSection(value) } : nil
    }

    /// Checks a binding as far as possible without its library.
    private static func check(_ source: BindingSource, _ settings: [PluginSetting]) throws(ManifestProblem) -> BindingProgram {
        do throws(BindingError) {
            return try BindingProgram(
                checking: source,
                settings: settings.map { ($0.name, $0.kind.example, $0.defaultValue != nil || $0.isRequired) })
        } catch {
            throw ManifestProblem(error.message, at: error.path.inside(.member("binding")), rule: .bindingIsSound)
        }
    }

    private static func permissions(_ value: JSONValue) throws(ManifestProblem) -> Set<PluginPermission> {
        var permissions: Set<PluginPermission> = []
        _ = try value.list(0...64) { value throws(ManifestProblem) in
            guard let permission = PluginPermission(rawValue: try value.text()) else {
                let names = PluginPermission.allCases.map { "'\($0.rawValue)'" }.joined(separator: ", ")
                throw ManifestProblem("is not a permission; the permissions of this host are: \(names)")
            }
            guard permissions.insert(permission).inserted else { throw ManifestProblem("is named twice") }
        }
        return permissions
    }

    private static func settings(_ value: JSONValue) throws(ManifestProblem) -> [PluginSetting] {
        let object = try ManifestObject(value, names: nil)
        guard object.members.count <= 256 else {
            throw ManifestProblem("has \(object.members.count) settings, where at most 256 are allowed")
        }
        let settings = try object.map { name, value throws(ManifestProblem) in try PluginSetting(name, value) }
        return settings.sorted { $0.name < $1.name }
    }

    /// Whether `text` is a relative path without `.`, `..` and empty components.
    private static func isPathInsideFolder(_ text: String) -> Bool {
        let components = text.utf8.split(separator: UInt8(ascii: "/"), omittingEmptySubsequences: false)
        return text.utf8.count <= 1024 && !text.unicodeScalars.contains(where: Text.isBreaking)
            && components.allSatisfy { !$0.isEmpty && Substring($0) != "." && Substring($0) != ".." }
    }
}

extension SchemeSet {
    /// `"any"`, or an array of schemes in lower case.
    fileprivate init(_ value: JSONValue) throws(ManifestProblem) {
        if case .string("any") = value {
            self = .any
            return
        }
        if case .string = value { throw ManifestProblem("has to be an array of schemes, or \"any\"") }
        let schemes = try value.list(1...64) { value throws(ManifestProblem) in
            try value.text("which is not a URL scheme in lower case (RFC 3986, section 3.1)") { Text.isScheme($0) }
        }
        for (index, scheme) in schemes.enumerated() where schemes[..<index].contains(scheme) {
            throw ManifestProblem("is named twice", at: JSONPath()[index])
        }
        self = .only(schemes)
    }
}
