// SPDX-License-Identifier: Apache-2.0

import Foundation

/// Plugins in the program's folder: copies, so that who owns the checkout is no matter.
extension Program {
    private static let manifest = TemplateConformanceTests.root.appendingPathComponent("Plugins/Template/Template.plugin.json")

    /// The library of the template, as an absolute path.
    func copyTemplate(to name: String = "template.so") throws -> String {
        let copy = folder.appendingPathComponent(name)
        try FileManager.default.createDirectory(at: copy.deletingLastPathComponent(), withIntermediateDirectories: true)
        if !FileManager.default.fileExists(atPath: copy.path) {
            try FileManager.default.copyItem(at: URL(filePath: TemplateConformanceTests.library), to: copy)
        }
        return copy.path
    }

    /// The template as `make run` installs it, in `PLACE/Template/`.
    ///
    /// - Parameter change: of the manifest's text.
    func installTemplate(in place: String = "plugins", as name: String = "Template", _ change: (String) -> String = { $0 }) throws {
        _ = try copyTemplate(to: "\(place)/\(name)/template.so")
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
