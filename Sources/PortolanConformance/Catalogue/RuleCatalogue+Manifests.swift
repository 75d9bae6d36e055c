// SPDX-License-Identifier: Apache-2.0

extension RuleCatalogue {
    static let manifests: [ConformanceRule] = [
        .must(
            "MANIF-01", level: 1, isEnforced: true,
            "The manifest is valid according to the published schema. An error states line and column.",
            because: "The host must know a plugin without opening its library.",
            remedy: "Name the schema in \"$schema\", and let an editor check it."),
        .must(
            "MANIF-02", level: 1, isEnforced: true,
            "Identifier and schemes are the same as in the library's descriptor.",
            because: "The host finds a plugin by its manifest only.",
            remedy: "Make them the same."),
        .must(
            "MANIF-03", level: 1, isEnforced: true,
            "The library is inside the manifest's folder, unless it is a system library that a binding names.",
            because: "In another folder, other users may change it.",
            remedy: "Give a relative path without '..'."),
        .must(
            "MANIF-04", level: 1, isEnforced: true,
            "If the manifest states a digest, it is the digest of the library.",
            because: "A library with another digest is not the intended one.",
            remedy: "Write the digest of the library that you ship."),
        .must(
            "MANIF-05", level: 1,
            "The manifest has a conformance section with at least one URL that succeeds and one that fails.",
            because: "Without examples, nobody can test the plugin.",
            remedy: "List URLs and their expected results."),
        .must(
            "MANIF-06", level: 1, isEnforced: true,
            "The range of host versions contains this host.",
            because: "The plugin was not made for this host.",
            remedy: "Widen hostVersions after you have tested the plugin."),
        .must(
            "MANIF-07", level: 1, isEnforced: true,
            "The symbols of a binding exist, its steps have the right types, and each step leads to the clean-up.",
            because: "A wrong signature overwrites memory.",
            remedy: "Compare the binding with the library's header."),
        .must(
            "MANIF-08", level: 3, awaits: .isolation,
            "The manifest requests every permission that the plugin uses, and should request no other.",
            because: "Users decide by these permissions.",
            remedy: "Request the permissions that you use."),
        .must(
            "MANIF-09", level: 1, isEnforced: true,
            "Only root and the user can change the manifest and the library.",
            because: "The code of the library runs in the process.",
            remedy: "Remove the write permission of group and others."),
        .must(
            "MANIF-10", level: 1, isEnforced: true,
            "No other plugin in the searched folders has the same identifier.",
            because: "One plugin would hide the other.",
            remedy: "Choose an identifier under your own domain."),
    ]
}
