// SPDX-License-Identifier: Apache-2.0

extension RuleCatalogue {
    static let manifests: [ConformanceRule] = [
        .must(
            "MANIF-01", level: 1, isEnforced: true,
            "The manifest is valid by the published schema; an error gives line and column.",
            because: "Nobody should have to open a library to know it.",
            remedy: "Name the schema in \"$schema\", and let an editor check it."),
        .must(
            "MANIF-02", level: 1, isEnforced: true,
            "Identifier and schemes agree with the library's descriptor.",
            because: "The host finds a plugin by its manifest alone.",
            remedy: "Make them the same."),
        .must(
            "MANIF-03", level: 1, isEnforced: true,
            "The library lies inside the manifest's folder unless a binding names one of the system's.",
            because: "Elsewhere others may change it.",
            remedy: "Give a relative path without '..'."),
        .must(
            "MANIF-04", level: 1, isEnforced: true,
            "A digest that is pinned agrees with the library.",
            because: "Another library is not what was meant.",
            remedy: "Write the digest of the library that is shipped."),
        .must(
            "MANIF-05", level: 1,
            "The manifest has a conformance section with at least one URL that succeeds and one that fails.",
            because: "Without examples nobody can judge the plugin.",
            remedy: "Name URLs, and what they yield."),
        .must(
            "MANIF-06", level: 1, isEnforced: true,
            "The range of host versions contains this host.",
            because: "It was not made for this one.",
            remedy: "Widen hostVersions after testing."),
        .must(
            "MANIF-07", level: 1, isEnforced: true,
            "A binding's symbols exist, its steps are well-typed, and clean-up is reached from each.",
            because: "A wrong signature overwrites memory.",
            remedy: "Compare with the library's header."),
        .must(
            "MANIF-08", level: 3, awaits: .isolation,
            "Permissions that are used were asked for, and permissions that are asked for should be used.",
            because: "Users decide by them.",
            remedy: "Ask for what is used."),
        .must(
            "MANIF-09", level: 1, isEnforced: true,
            "Manifest and library can be changed by nobody but root and the user.",
            because: "Their code runs in the process.",
            remedy: "Take write permission from group and others."),
        .must(
            "MANIF-10", level: 1, isEnforced: true,
            "No other plugin in the searched folders has the identifier.",
            because: "One would hide the other.",
            remedy: "Choose an identifier under a domain of your own."),
    ]
}
