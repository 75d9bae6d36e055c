// SPDX-License-Identifier: Apache-2.0

import Foundation

/// Plugins in the program's folder: copies, so that who owns the checkout is no matter.
extension Program {
    private static let manifest = PluginConformanceTests.root.appendingPathComponent("Plugins/Template/Template.plugin.json")

    /// What `make fixtures` has built, or another build of it.
    private static let fixtures =
        ProcessInfo.processInfo.environment["PORTOLAN_FIXTURES"].map { URL(fileURLWithPath: $0) }
        ?? PluginConformanceTests.root.appendingPathComponent(".build/fixtures")

    /// A copy of a library that `make fixtures` has built, by its absolute path.
    @discardableResult
    func copyFixture(_ name: String, to destination: String? = nil) throws -> String {
        let copy = folder.appendingPathComponent(destination ?? name)
        try FileManager.default.createDirectory(at: copy.deletingLastPathComponent(), withIntermediateDirectories: true)
        if !FileManager.default.fileExists(atPath: copy.path) {
            try FileManager.default.copyItem(at: Self.fixtures.appendingPathComponent(name), to: copy)
        }
        return copy.path
    }

    /// The manifest of a plugin that has no code, by its folder's absolute path.
    @discardableResult
    func copyManifest(_ name: String, to destination: String? = nil) throws -> String {
        let place = destination ?? name
        let source = PluginConformanceTests.root.appendingPathComponent("Plugins/\(name)/\(name).plugin.json")
        try makeFile("\(place)/\(name).plugin.json", String(contentsOf: source, encoding: .utf8))
        return "\(path)/\(place)"
    }

    /// The template as `make run` installs it, in `PLACE/Template/`.
    ///
    /// - Parameter change: of the manifest's text.
    func installTemplate(in place: String = "plugins", as name: String = "Template", _ change: (String) -> String = { $0 }) throws {
        try copyFixture("template.so", to: "\(place)/\(name)/template.so")
        try makeFile("\(place)/\(name)/\(name).plugin.json", change(String(contentsOf: Self.manifest, encoding: .utf8)))
    }

    func setPermissions(_ permissions: Int, of name: String) throws {
        try FileManager.default.setAttributes([.posixPermissions: permissions], ofItemAtPath: folder.appendingPathComponent(name).path)
    }

    func remove(_ name: String) throws {
        try FileManager.default.removeItem(at: folder.appendingPathComponent(name))
    }

    /// The folder without links, as the program names it.
    var path: String { folder.resolvingSymlinksInPath().path }
}
