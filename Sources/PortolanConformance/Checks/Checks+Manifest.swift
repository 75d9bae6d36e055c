// SPDX-License-Identifier: Apache-2.0

import PortolanCore
import PortolanPlugins

/// MANIF: what a manifest says of its library.
extension ConformanceCheck {
    static let manifest: [ConformanceCheck] = [
        ConformanceCheck("MANIF-01") { trial throws(Unjudged) in
            guard let problem = trial.subject.problem else {
                _ = try trial.manifest()
                return
            }
            guard problem.rule == .manifestIsValid else { throw Unjudged("its binding is wrong (MANIF-07)") }
            trial.fail(problem.place + problem.detail)
        },
        opened("MANIF-02"), opened("MANIF-03"), opened("MANIF-04"),
        ConformanceCheck("MANIF-05") { trial throws(Unjudged) in
            _ = try trial.manifest()
            let loads = trial.subject.loads
            if !loads.contains(where: { $0.error == nil && !$0.tags.contains(.hangs) }) {
                trial.fail("the manifest names no URL that succeeds")
            }
            if !loads.contains(where: { $0.error != nil }) { trial.fail("the manifest names no URL that fails") }
        },
        opened("MANIF-06"),
        ConformanceCheck("MANIF-07") { trial throws(Unjudged) in
            if let problem = trial.subject.problem, problem.rule == .bindingIsSound { return trial.fail(problem.place + problem.detail) }
            guard try trial.manifest().manifest.bindsLibrary else { throw Unjudged("it does not apply: the manifest binds no library") }
            try judgeOpening(trial, "MANIF-07")
        },
        ConformanceCheck("MANIF-09") { trial throws(Unjudged) in
            trial.fail(try trial.manifest().objectionsToFiles.map { "\($0.path): \($0.detail)" })
        },
    ]

    /// Opens the plugin as a host does, and looks whether it is refused by this rule.
    private static func opened(_ id: String) -> ConformanceCheck {
        ConformanceCheck(id) { trial throws(Unjudged) in try judgeOpening(trial, id) }
    }

    private static func judgeOpening(_ trial: Trial, _ id: String) throws(Unjudged) {
        let manifest = try trial.manifest()
        do throws(LoadError) {
            _ = try manifest.open()
        } catch {
            guard let place = error.message.firstRange(of: "\(id): ") else {
                let other = RuleCatalogue.rules.first { error.message.contains("\($0.id): ") }
                throw Unjudged("the plugin is refused for another reason\(other.map { " (\($0.id))" } ?? ""): \(error.message)")
            }
            trial.fail(String(error.message[place.upperBound...]))
        }
    }
}

extension Trial {
    fileprivate func manifest() throws(Unjudged) -> InstalledPlugin {
        if subject.problem != nil { throw Unjudged("the manifest can't be read (MANIF-01)") }
        guard let manifest = subject.manifest else { throw Unjudged("the library was named without a manifest") }
        return manifest
    }
}

extension PluginProblem {
    /// In which line and column.
    fileprivate var place: String { line.map { "line \($0), column \(column ?? 1): " } ?? "" }
}
