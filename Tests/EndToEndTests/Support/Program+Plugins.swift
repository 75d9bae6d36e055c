// SPDX-License-Identifier: Apache-2.0

import Foundation

/// Copies plugins into the program's folder, because the program refuses plugins of another owner.
extension Program {
    private static let templateManifest = PluginConformanceTests.root.appendingPathComponent("Plugins/Template/Template.plugin.json")

    /// The folder that `make fixtures` built, or an alternative build of it.
    private static let fixtures =
        ProcessInfo.processInfo.environment["PORTOLAN_FIXTURES"].map { URL(fileURLWithPath: $0) }
        ?? PluginConformanceTests.root.appendingPathComponent(".build/fixtures")

    /// Copies a library that `make fixtures` built, and returns the copy's absolute path.
    @discardableResult
    func copyFixture(_ name: String, to destination: String? = nil) throws -> String {
        let copy = folder.appendingPathComponent(destination ?? name)
        try FileManager.default.createDirectory(at: copy.deletingLastPathComponent(), withIntermediateDirectories: true)
        if !FileManager.default.fileExists(atPath: copy.path) {
            try FileManager.default.copyItem(at: Self.fixtures.appendingPathComponent(name), to: copy)
        }
        return copy.path
    }

    /// Copies the manifest of a plugin without code, and returns the absolute path of its folder.
    @discardableResult
    func copyManifest(_ name: String, to destination: String? = nil) throws -> String {
        let destinationFolder = destination ?? name
        let source = PluginConformanceTests.root.appendingPathComponent("Plugins/\(name)/\(name).plugin.json")
        try makeFile("\(destinationFolder)/\(name).plugin.json", String(contentsOf: source, encoding: .utf8))
        return "\(path)/\(destinationFolder)"
    }

    /// Installs Template in `PLACE/Template/`, as `make run` does.
    ///
    /// - Parameter change: changes the text of the manifest.
    func installTemplate(in destinationFolder: String = "plugins", as name: String = "Template", _ change: (String) -> String = { $0 })
        throws
    {
        try copyFixture("template.so", to: "\(destinationFolder)/\(name)/template.so")
        try makeFile("\(destinationFolder)/\(name)/\(name).plugin.json", change(String(contentsOf: Self.templateManifest, encoding: .utf8)))
    }

    func setPermissions(_ permissions: Int, of name: String) throws {
        try FileManager.default.setAttributes([.posixPermissions: permissions], ofItemAtPath: folder.appendingPathComponent(name).path)
    }

    func remove(_ name: String) throws {
        try FileManager.default.removeItem(at: folder.appendingPathComponent(name))
    }

    /// The folder's path with links resolved, as the program prints it.
    var path: String { folder.resolvingSymlinksInPath().path }
}
