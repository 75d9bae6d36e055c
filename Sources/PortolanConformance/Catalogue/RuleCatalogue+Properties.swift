// SPDX-License-Identifier: Apache-2.0

extension RuleCatalogue {
    static let properties: [ConformanceRule] = [
        .must(
            "PROP-01", level: 2, needs: .redirects,
            "If the plugin re-issues a request, it keeps the properties that it does not know.",
            because: "Those properties belong to another handler.",
            remedy: "Set only your own properties in portolan_change."),
        .must(
            "PROP-02", level: 2, isEnforced: true,
            "If a property has the wrong type, the load fails with an error that names the property.",
            because: "The caller set the property by name.",
            remedy: "Check the kind before you read the value."),
        .must(
            "PROP-03", level: 3,
            "The plugin does not use the memory of a property after the request is gone.",
            because: "The host reuses the memory.",
            remedy: "Copy what you need."),
    ]
}
