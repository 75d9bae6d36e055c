// SPDX-License-Identifier: Apache-2.0

extension RuleCatalogue {
    static let properties: [ConformanceRule] = [
        .must(
            "PROP-01", level: 2, needs: .redirects,
            "Properties that the plugin does not know stay on a request that it re-issues.",
            because: "They belong to another handler.",
            remedy: "Name in the change only your own."),
        .must(
            "PROP-02", level: 2, isEnforced: true,
            "A property of the wrong type is an error that names it.",
            because: "The caller set it by name.",
            remedy: "Check the kind before reading."),
        .must(
            "PROP-03", level: 3,
            "Memory of properties is not kept after the call that lent it.",
            because: "It is used anew.",
            remedy: "Copy what is needed."),
    ]
}
