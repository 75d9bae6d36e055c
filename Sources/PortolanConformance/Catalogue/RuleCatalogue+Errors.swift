// SPDX-License-Identifier: Apache-2.0

extension RuleCatalogue {
    static let errors: [ConformanceRule] = [
        .must(
            "ERR-01", level: 2, needs: .fails,
            "A URL that is said to fail fails with the stated code.",
            because: "Callers branch on codes.",
            remedy: "Map each cause to the nearest published code; correct the manifest where that is wrong."),
        .must(
            "ERR-02", level: 2, isEnforced: true, needs: .fails,
            "Messages are UTF-8 on one line, 1 to 4096 bytes.",
            because: "They are printed on terminals and in logs.",
            remedy: "Quote values, replace control characters, and shorten."),
        .must(
            "ERR-03", level: 2, isEnforced: true, needs: .fails,
            "Codes are published ones for plugins, or stand in a domain of the plugin's own.",
            because: "Callers cannot branch on a number that nobody knows.",
            remedy: "Take the nearest published code, or set domain."),
        .must(
            "ERR-04", level: 2,
            "A malformed URL of the plugin's own scheme fails with the code for a bad URL.",
            because: "The caller must tell a typing error from a missing resource.",
            remedy: "Refuse in make with PORTOLAN_ERROR_BAD_URL."),
        .must(
            "ERR-05", level: 2, needs: .fails,
            "No user information of the URL stands in a message.",
            because: "Passwords end up in logs.",
            remedy: "Quote host and path, not request->url."),
        .must(
            "ERR-06", level: 2, needs: .any,
            "Nothing is written to standard output or standard error.",
            because: "They belong to the program; its output is piped to others.",
            remedy: "Use host->log."),
        .must(
            "ERR-07", level: 3, needs: .any,
            "The plugin never calls exit, abort or a process-wide handler.",
            because: "The program belongs to somebody else.",
            remedy: "Fail the load instead."),
    ]
}
