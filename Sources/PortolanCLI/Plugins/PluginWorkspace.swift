// SPDX-License-Identifier: Apache-2.0

import Portolan
import PortolanCore
import PortolanFileSystem
import PortolanJSON
import PortolanPlugins

/// Opens a plugin again after each change of its files, and loads a URL with it.
final class PluginWorkspace {
    private let registeredPlugin: RegisteredPlugin
    private let loader: Loader
    private let run: WatchRun?
    private let helper: OpeningHelper
    private let isJSON: Bool
    private var isOpen = false
    /// Whether loads use the newest build. If that build cannot be used, they use the previous build.
    private(set) var servesNewestBuild = false

    init(_ registeredPlugin: RegisteredPlugin, on loader: Loader, request: Request?, _ helper: OpeningHelper, isJSON: Bool) {
        self.registeredPlugin = registeredPlugin
        self.loader = loader
        (self.helper, self.isJSON) = (helper, isJSON)
        run = request.map { WatchRun($0) }
    }

    /// The time in milliseconds without a change of the files, after which the plugin is opened again. A file that is
    /// written in several steps therefore counts as one change.
    private static let quietTime: CInt = 150
    /// How long to wait for a missing file, in milliseconds. A build often deletes a file before it writes it again.
    private static let absenceLimit: CInt = 2000

    /// Opens the plugin now, and again after each change.
    ///
    /// - Parameter limit: the number of changes after which the function returns; `nil` for no limit.
    func watch(atMost limit: Int?) throws(Failure) {
        let plugin = registeredPlugin.plugin
        let folders = Set([plugin.manifestPath, plugin.libraryPath].map(Self.folder)).sorted()
        let changes: FolderWatch
        do throws(SystemError) {
            changes = try FolderWatch(of: folders)
        } catch {
            throw Failure(.noResources, "the folder can't be watched: \(error); end other programs that watch files")
        }
        // The watch starts before the first look at the files, so that it reports every later change.
        _ = changes.wait(atMost: 0)
        var openedFiles = files
        try open()
        var count = 0
        while count < limit ?? .max {
            _ = changes.wait()
            while changes.wait(atMost: files.bothExist ? Self.quietTime : Self.absenceLimit) {}
            let currentFiles = files
            guard currentFiles != openedFiles else { continue }
            openedFiles = currentFiles
            try open()
            count += 1
        }
    }

    private var files: PluginFiles {
        PluginFiles(manifest: registeredPlugin.plugin.manifestPath, library: registeredPlugin.plugin.libraryPath)
    }

    private static func folder(of path: String) -> String {
        path.lastIndex(of: "/").map { $0 == path.startIndex ? "/" : String(path[..<$0]) } ?? "."
    }

    private func open() throws(Failure) {
        // If opening the plugin ends the helper process or hangs, this process does not open it.
        if let problem = helper.problem {
            servesNewestBuild = false
            try report("refused", problem: problem)
        } else {
            do throws(LoadError) {
                try registeredPlugin.reload()
                servesNewestBuild = true
            } catch {
                servesNewestBuild = false
                try report("refused", problem: error.phrase)
            }
        }
        if servesNewestBuild {
            // `try?` because reload() has already read the manifest with its conformance section. An error means a
            // later change, which is the next event.
            try report(isOpen ? "reloaded" : "opened", warnings: (try? PluginValidation.warnings(of: registeredPlugin.plugin)) ?? [])
            isOpen = true
        }
        guard isOpen, let run else { return }
        let result = run.load(on: loader)
        if isJSON { try StandardOutput.write(result.json) } else { try StandardOutput.write(result.text) }
    }

    private func report(_ event: String, problem: String? = nil, warnings: [String] = []) throws(Failure) {
        let plugin = registeredPlugin.plugin
        guard !isJSON else {
            return try StandardOutput.write([
                "event": .string(event), "plugin": .string(plugin.identifier), "version": .string(plugin.manifest.version.description),
                "schemes": plugin.manifest.schemes.json, "problems": .array([problem].compactMap { $0 }.map(JSONValue.string)),
                "warnings": .array(warnings.map(JSONValue.string)),
            ])
        }
        let name = "\(plugin.identifier) \(plugin.manifest.version)"
        let phrase =
            problem.map { "\(plugin.identifier): not \(isOpen ? "reloaded, \(plugin.manifest.version) keeps serving" : "opened"): \($0)" }
            ?? "\(name): \(event), serves \(plugin.manifest.schemes.shortText)"
        try StandardOutput.write(PlainText.line(([phrase] + warnings.map { "warning: \($0)" }).joined(separator: "; ")) + "\n")
    }
}
