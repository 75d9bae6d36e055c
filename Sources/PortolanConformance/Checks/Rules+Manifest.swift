// SPDX-License-Identifier: Apache-2.0

import PortolanCore
import PortolanPlugins

/// MANIF: what a manifest declares about its library.
extension RuleCatalogue {
    static let manifests: [CheckedRule] = [
        .must(
            "MANIF-01", level: 1, isEnforced: true,
            "The manifest is valid according to the published schema. An error states line and column.",
            because: "The host must know a plugin without opening its library.",
            remedy: "Name the schema in \"$schema\", and let an editor check it."
        ) { context throws(CheckSkipped) in
            guard let problem = context.target.problem else {
                _ = try context.manifest()
                return
            }
            guard problem.rule == .manifestIsValid else { throw CheckSkipped("its binding is wrong (MANIF-07)") }
            context.fail(problem.place + problem.detail)
        },
        .must(
            "MANIF-02", level: 1, isEnforced: true,
            "Identifier and schemes are the same as in the library's descriptor.",
            because: "The host finds a plugin by its manifest only.",
            remedy: "Make them the same.",
            check: opensWithoutViolation("MANIF-02")),
        .must(
            "MANIF-03", level: 1, isEnforced: true,
            "The library is inside the manifest's folder, unless it is a system library that a binding names.",
            because: "In another folder, other users may change it.",
            remedy: "Give a relative path without '..'.",
            check: opensWithoutViolation("MANIF-03")),
        .must(
            "MANIF-04", level: 1, isEnforced: true,
            "If the manifest states a digest, it is the digest of the library.",
            because: "A library with another digest is not the intended one.",
            remedy: "Write the digest of the library that you ship.",
            check: opensWithoutViolation("MANIF-04")),
        .must(
            "MANIF-05", level: 1,
            "The manifest has a conformance section with at least one URL that succeeds and one that fails.",
            because: "Without examples, nobody can test the plugin.",
            remedy: "List URLs and their expected results."
        ) { context throws(CheckSkipped) in
            guard let section = try context.manifest().manifest.conformance else {
                return context.fail("the manifest has no conformance section")
            }
            context.fail(section.missingExamples.map { "the manifest \($0)" })
        },
        .must(
            "MANIF-06", level: 1, isEnforced: true,
            "The range of host versions contains this host.",
            because: "The plugin was not made for this host.",
            remedy: "Widen hostVersions after you have tested the plugin.",
            check: opensWithoutViolation("MANIF-06")),
        .must(
            "MANIF-07", level: 1, isEnforced: true,
            "The symbols of a binding exist, its steps have the right types, and each step leads to the clean-up.",
            because: "A wrong signature overwrites memory.",
            remedy: "Compare the binding with the library's header."
        ) { context throws(CheckSkipped) in
            if let problem = context.target.problem, problem.rule == .bindingIsSound {
                return context.fail(problem.place + problem.detail, remedy: "Correct this place in the manifest.")
            }
            guard try context.manifest().manifest.bindsLibrary else {
                throw CheckSkipped("it does not apply: the manifest binds no library")
            }
            try checkOpening(context, "MANIF-07")
        },
        .must(
            "MANIF-08", level: 3,
            "The manifest requests the permissions of the abilities that the plugin declares, and should request no other.",
            because: "Users decide by these permissions.",
            remedy: "Request the permission of each ability that the plugin declares, as in \"permissions\": [\"cookies\"].",
            check: checkPermissions),
        .must(
            "MANIF-09", level: 1, isEnforced: true,
            "Only root and the user can change the manifest and the library.",
            because: "The code of the library runs in the process.",
            remedy: "Remove the write permission of group and others."
        ) { context throws(CheckSkipped) in
            context.fail(try context.manifest().objectionsToFiles.map { "\($0.path): \($0.detail)" })
        },
        .must(
            "MANIF-10", level: 1, isEnforced: true,
            "No other plugin in the searched folders has the same identifier.",
            because: "One plugin would hide the other.",
            remedy: "Choose an identifier under your own domain."),
    ]

    /// Returns a check that opens the plugin as a host does, and fails if the host refuses the plugin because of the
    /// rule `id`.
    private static func opensWithoutViolation(_ id: String) -> ConformanceCheck.Body {
        { context throws(CheckSkipped) in try checkOpening(context, id) }
    }

    private static func checkOpening(_ context: CheckContext, _ id: String) throws(CheckSkipped) {
        let manifest = try context.manifest()
        try context.instanceContext.steps.require(.hostOpening, .dlopen, .entry, .initialize, .deinitialize)
        do throws(LoadError) {
            _ = try context.instanceContext.callLog.entering(PluginStep.hostOpening.rawValue) { () throws(LoadError) in
                try manifest.open()
            }
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
    func manifest() throws(CheckSkipped) -> InstalledPlugin {
        if target.problem != nil { throw CheckSkipped("the manifest can't be read (MANIF-01)") }
        guard let manifest = target.manifest else { throw CheckSkipped("the library was named without a manifest") }
        return manifest
    }
}

extension PluginProblem {
    /// The line, the column and a colon; empty if the line is unknown.
    fileprivate var place: String { line.map { "line \($0), column \(column ?? 1): " } ?? "" }
}
