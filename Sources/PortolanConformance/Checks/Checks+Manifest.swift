// SPDX-License-Identifier: Apache-2.0

import PortolanCore
import PortolanPlugins

/// MANIF: what a manifest declares about its library.
extension ConformanceCheck {
    static let manifest: [ConformanceCheck] = [
        ConformanceCheck("MANIF-01") { context throws(CheckSkipped) in
            guard let problem = context.target.problem else {
                _ = try context.manifest()
                return
            }
            guard problem.rule == .manifestIsValid else { throw CheckSkipped("its binding is wrong (MANIF-07)") }
            context.fail(problem.place + problem.detail)
        },
        opened("MANIF-02"), opened("MANIF-03"), opened("MANIF-04"),
        ConformanceCheck("MANIF-05") { context throws(CheckSkipped) in
            _ = try context.manifest()
            let loads = context.target.loads
            if !loads.contains(where: { $0.error == nil && !$0.tags.contains(.hangs) }) {
                context.fail("the manifest names no URL that succeeds")
            }
            if !loads.contains(where: { $0.error != nil }) { context.fail("the manifest names no URL that fails") }
        },
        opened("MANIF-06"),
        ConformanceCheck("MANIF-07") { context throws(CheckSkipped) in
            if let problem = context.target.problem, problem.rule == .bindingIsSound { return context.fail(problem.place + problem.detail) }
            guard try context.manifest().manifest.bindsLibrary else {
                throw CheckSkipped("it does not apply: the manifest binds no library")
            }
            try checkOpening(context, "MANIF-07")
        },
        ConformanceCheck("MANIF-09") { context throws(CheckSkipped) in
            context.fail(try context.manifest().objectionsToFiles.map { "\($0.path): \($0.detail)" })
        },
    ]

    /// Opens the plugin as a host does, and checks whether this rule refuses it.
    private static func opened(_ id: String) -> ConformanceCheck {
        ConformanceCheck(id) { context throws(CheckSkipped) in try checkOpening(context, id) }
    }

    private static func checkOpening(_ context: CheckContext, _ id: String) throws(CheckSkipped) {
        let manifest = try context.manifest()
        do throws(LoadError) {
            _ = try manifest.open()
        } catch {
            guard let place = error.message.firstRange(of: "\(id): ") else {
                let other = RuleCatalogue.rules.first { error.message.contains("\($0.id): ") }
                throw CheckSkipped("the plugin is refused for another reason\(other.map { " (\($0.id))" } ?? ""): \(error.message)")
            }
            context.fail(String(error.message[place.upperBound...]))
        }
    }
}

extension CheckContext {
    fileprivate func manifest() throws(CheckSkipped) -> InstalledPlugin {
        if target.problem != nil { throw CheckSkipped("the manifest can't be read (MANIF-01)") }
        guard let manifest = target.manifest else { throw CheckSkipped("the library was named without a manifest") }
        return manifest
    }
}

extension PluginProblem {
    /// The line and the column.
    fileprivate var place: String { line.map { "line \($0), column \(column ?? 1): " } ?? "" }
}
