// SPDX-License-Identifier: Apache-2.0

extension RuleCatalogue {
    static let security: [ConformanceRule] = [
        .must(
            "SEC-01", level: 3,
            "CR, LF and NUL, plain or percent-encoded, never reach an inner request, a peer or a field.",
            because: "They end a line and begin another.",
            remedy: "Decode with portolan_decode, which refuses them."),
        .must(
            "SEC-02", level: 3,
            "'..', encoded and doubled, does not leave the root that the plugin serves.",
            because: "It reads /etc/passwd.",
            remedy: "Join with portolan_join."),
        .must(
            "SEC-03", level: 3, isEnforced: true, needs: .redirects,
            "No redirect leads to a scheme that the configuration does not allow.",
            because: "A page could read files.",
            remedy: "Redirect within the own scheme, or to one that every server may name: the host follows no other."),
        .must(
            "SEC-04", level: 4, needs: .succeeds,
            "Without HOME, and with a hostile TMPDIR, LC_ALL and PATH, the result is the same.",
            because: "Services run without a home.",
            remedy: "Depend on settings, not on the environment."),
        .must(
            "SEC-05", level: 1,
            "The library has no executable stack and no segment that is both writable and executable.",
            because: "A flaw becomes code.",
            remedy: "Link with -z noexecstack; assemble with .note.GNU-stack."),
        .must(
            "SEC-06", level: 3, needs: .succeeds,
            "Descriptors are close-on-exec, and files are made private (0600).",
            because: "Programs that are started later inherit them.",
            remedy: "Use O_CLOEXEC and mode 0600."),
        .must(
            "SEC-07", level: 4, awaits: .isolation,
            "There is no network or file access beyond what the manifest asks.",
            because: "Users decide by it.",
            remedy: "Ask for what is used."),
        .must(
            "SEC-08", level: 2, isEnforced: true, needs: .any,
            "Field names and values are well-formed (RFC 9110, section 5).",
            because: "Malformed ones split messages.",
            remedy: "Names are tokens; values hold no control characters."),
        .must(
            "SEC-09", level: 4, needs: .succeeds,
            "A length that a peer declares is not allocated before the bytes are there.",
            because: "A few bytes would take all memory.",
            remedy: "Grow with what comes."),
    ]
}
