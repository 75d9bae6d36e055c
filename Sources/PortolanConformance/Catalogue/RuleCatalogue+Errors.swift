// SPDX-License-Identifier: Apache-2.0

extension RuleCatalogue {
    static let errors: [ConformanceRule] = [
        .must(
            "ERR-01", level: 2, needs: .fails,
            "If the manifest says that a URL fails with a code, the load fails with that code.",
            because: "Callers branch on codes.",
            remedy: "Map each cause to the nearest published code. If the manifest is wrong, correct it."),
        .must(
            "ERR-02", level: 2, isEnforced: true, needs: .fails,
            "Each message is one line of UTF-8 with 1 to 4096 bytes.",
            because: "Programs print messages on terminals and in logs.",
            remedy: "Quote values, replace control characters, and shorten."),
        .must(
            "ERR-03", level: 2, isEnforced: true, needs: .fails,
            "Each error code is published for plugins, or belongs to the plugin's own domain.",
            because: "Callers cannot branch on a number that they do not know.",
            remedy: "Use the nearest published code, or set domain."),
        .must(
            "ERR-04", level: 2,
            "A malformed URL of the plugin's own scheme fails with the code for a bad URL.",
            because: "The caller must distinguish a typing error from a missing resource.",
            remedy: "Refuse in make with PORTOLAN_ERROR_BAD_URL."),
        .must(
            "ERR-05", level: 2, needs: .fails,
            "No message contains the user information of the URL.",
            because: "Otherwise passwords appear in logs.",
            remedy: "Quote host and path, not request->url."),
        .must(
            "ERR-06", level: 2, needs: .any,
            "The plugin writes nothing to standard output or standard error.",
            because: "Both belong to the program, whose output may go to another program.",
            remedy: "Use host->log."),
        .must(
            "ERR-07", level: 3, needs: .any,
            "The plugin never calls exit or abort, and installs no process-wide handler.",
            because: "The process belongs to another program.",
            remedy: "Fail the load instead."),
    ]
}
