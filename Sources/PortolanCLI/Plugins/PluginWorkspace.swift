// SPDX-License-Identifier: Apache-2.0

import Portolan
import PortolanCore
import PortolanJSON

/// A plugin that is being worked on: opened anew whenever it changes, and tried with a URL.
final class PluginWorkspace {
    private let serving: RegisteredPlugin
    private let loader: Loader
    private let trial: WatchRun?
    private let helper: OpeningHelper
    private let isJSON: Bool
    private var isOpen = false
    /// Whether what is there now is what serves.
    private(set) var isServingNewest = false

    init(_ serving: RegisteredPlugin, on loader: Loader, request: Request?, _ helper: OpeningHelper, isJSON: Bool) {
        self.serving = serving
        self.loader = loader
        (self.helper, self.isJSON) = (helper, isJSON)
        trial = request.map { WatchRun($0) }
    }

    /// What is written in steps is one change: so long has nothing happened after it, in milliseconds.
    private static let quietTime: CInt = 150
    /// A file that goes is mostly on its way to come again.
    private static let absenceLimit: CInt = 2000

    /// Opens the plugin now, and after each change.
    func watch(atMost limit: Int?) throws(Failure) {
        let plugin = serving.plugin
        let folders = Set([plugin.manifestPath, plugin.libraryPath].map(Self.folder)).sorted()
        let changes: FolderWatch
        do throws(SystemError) {
            changes = try FolderWatch(of: folders)
        } catch {
            throw Failure(.noResources, "the folder can't be watched: \(error); end some of what watches files")
        }
        // What changes from here on is seen: the watch is older than the look.
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
        // What ends or stops the process that opens it is not opened here.
        if let problem = helper.problem {
            isServingNewest = false
            try tell("refused", problem: problem)
        } else {
            do throws(LoadError) {
                try serving.reload()
                isServingNewest = true
            } catch {
                isServingNewest = false
                try tell("refused", problem: error.words)
            }
        }
        if isServingNewest {
            // `try?` because the manifest was read just now, conformance and all; where it has changed since, that is the next change.
            try tell(isOpen ? "reloaded" : "opened", warnings: (try? Verdict.warnings(of: serving.plugin)) ?? [])
            isOpen = true
        }
        guard isOpen, let trial else { return }
        let result = trial.result(on: loader)
        if isJSON { try StandardOutput.write(result.json) } else { try StandardOutput.write(result.text) }
    }

    private func tell(_ event: String, problem: String? = nil, warnings: [String] = []) throws(Failure) {
        let plugin = serving.plugin
        guard !isJSON else {
            return try StandardOutput.write([
                "event": .string(event), "plugin": .string(plugin.identifier), "version": .string(plugin.manifest.version.description),
                "schemes": plugin.manifest.schemes.json, "problems": .array([problem].compactMap { $0 }.map(JSONValue.string)),
                "warnings": .array(warnings.map(JSONValue.string)),
            ])
        }
        let name = "\(plugin.identifier) \(plugin.manifest.version)"
        let words =
            problem.map { "\(plugin.identifier): not \(isOpen ? "reloaded, \(plugin.manifest.version) goes on serving" : "opened"): \($0)" }
            ?? "\(name): \(event), serves \(plugin.manifest.schemes.shortWords)"
        try StandardOutput.write(PlainText.line(([words] + warnings.map { "warning: \($0)" }).joined(separator: "; ")) + "\n")
    }
}
