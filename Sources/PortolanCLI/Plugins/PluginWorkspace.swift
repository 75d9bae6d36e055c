// SPDX-License-Identifier: Apache-2.0

import Portolan
import PortolanCore
import PortolanJSON
import PortolanPlugins

/// A plugin under development: reopens it after each change, and tries it with a URL.
final class PluginWorkspace {
    private let serving: RegisteredPlugin
    private let loader: Loader
    private let trial: WatchRun?
    private let helper: OpeningHelper
    private let isJSON: Bool
    private var isOpen = false
    /// Whether the newest files are the ones that serve.
    private(set) var isServingNewest = false

    init(_ serving: RegisteredPlugin, on loader: Loader, request: Request?, _ helper: OpeningHelper, isJSON: Bool) {
        self.serving = serving
        self.loader = loader
        (self.helper, self.isJSON) = (helper, isJSON)
        trial = request.map { WatchRun($0) }
    }

    /// A change is complete after this quiet time in milliseconds, so that a file written in steps counts as one
    /// change.
    private static let quietTime: CInt = 150
    /// How long to wait for a missing file, in milliseconds. A deleted file usually reappears.
    private static let absenceLimit: CInt = 2000

    /// Opens the plugin at once, and again after each change.
    func watch(atMost limit: Int?) throws(Failure) {
        let plugin = serving.plugin
        let folders = Set([plugin.manifestPath, plugin.libraryPath].map(Self.folder)).sorted()
        let changes: FolderWatch
        do throws(SystemError) {
            changes = try FolderWatch(of: folders)
        } catch {
            throw Failure(.noResources, "the folder can't be watched: \(error); end other programs that watch files")
        }
        // The watch started before the first look at the files, so no later change is missed.
        _ = changes.wait(atMost: 0)
        var seen = files
        try open()
        var count = 0
        while count < limit ?? .max {
            _ = changes.wait()
            while changes.wait(atMost: files.areThere ? Self.quietTime : Self.absenceLimit) {}
            let now = files
            guard now != seen else { continue }
            seen = now
            try open()
            count += 1
        }
    }

    private var files: PluginFiles { PluginFiles(manifest: serving.plugin.manifestPath, library: serving.plugin.libraryPath) }

    private static func folder(of path: String) -> String {
        path.lastIndex(of: "/").map { $0 == path.startIndex ? "/" : String(path[..<$0]) } ?? "."
    }

    private func open() throws(Failure) {
        // This process does not open a plugin that ends or hangs its process.
        if let problem = helper.problem {
            isServingNewest = false
            try report("refused", problem: problem)
        } else {
            do throws(LoadError) {
                try serving.reload()
                isServingNewest = true
            } catch {
                isServingNewest = false
                try report("refused", problem: error.phrase)
            }
        }
        if isServingNewest {
            // `try?` because reload() has already read the manifest with its conformance section; a later change is the
            // next event.
            try report(isOpen ? "reloaded" : "opened", warnings: (try? Verdict.warnings(of: serving.plugin)) ?? [])
            isOpen = true
        }
        guard isOpen, let trial else { return }
        let result = trial.result(on: loader)
        if isJSON { try StandardOutput.write(result.json) } else { try StandardOutput.write(result.text) }
    }

    private func report(_ event: String, problem: String? = nil, warnings: [String] = []) throws(Failure) {
        let plugin = serving.plugin
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
            ?? "\(name): \(event), serves \(plugin.manifest.schemes.shortWords)"
        try StandardOutput.write(PlainText.line(([phrase] + warnings.map { "warning: \($0)" }).joined(separator: "; ")) + "\n")
    }
}
