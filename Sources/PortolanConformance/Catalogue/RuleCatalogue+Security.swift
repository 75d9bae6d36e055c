// SPDX-License-Identifier: Apache-2.0

extension RuleCatalogue {
    static let security: [ConformanceRule] = [
        .must(
            "SEC-01", level: 3,
            "CR, LF and NUL, plain or percent-encoded, never reach a nested request, a peer or a field.",
            because: "These characters end a line and begin another one.",
            remedy: "Decode with portolan_decode, which refuses them."),
        .must(
            "SEC-02", level: 3,
            "'..' in a URL, plain, encoded or doubled, never leads out of the root folder that the plugin serves.",
            because: "Otherwise a URL can read /etc/passwd.",
            remedy: "Join paths with portolan_join."),
        .must(
            "SEC-03", level: 3, isEnforced: true, needs: .redirects,
            "No redirect leads to a scheme that the configuration does not allow.",
            because: "Otherwise a web page could read local files.",
            remedy: "Redirect to your own scheme, or to one that every server may name. The host follows no other redirect."),
        .must(
            "SEC-04", level: 4, needs: .succeeds,
            "Without HOME, and with hostile values of TMPDIR, LC_ALL and PATH, the result is the same.",
            because: "Services run without a home folder.",
            remedy: "Depend on settings, not on the environment."),
        .must(
            "SEC-05", level: 1,
            "The library has no executable stack and no segment that is both writable and executable.",
            because: "With such memory, an attacker can run code through a bug.",
            remedy: "Link with -z noexecstack, and assemble with .note.GNU-stack."),
        .must(
            "SEC-06", level: 3, needs: .succeeds,
            "File descriptors are close-on-exec, and new files are private (mode 0600).",
            because: "Programs that are started later inherit open descriptors.",
            remedy: "Use O_CLOEXEC and mode 0600."),
        .must(
            "SEC-07", level: 4, awaits: .isolation,
            "The plugin uses no network and no files beyond what its manifest requests.",
            because: "Users decide by these permissions.",
            remedy: "Request the permissions that you use."),
        .must(
            "SEC-08", level: 2, isEnforced: true, needs: .any,
            "Field names and values are well-formed (RFC 9110, section 5).",
            because: "A malformed field can split a message in two.",
            remedy: "Names are tokens. Values contain no control characters."),
        .must(
            "SEC-09", level: 4, needs: .succeeds,
            "The plugin does not allocate the length that a peer declares before the bytes are there.",
            because: "Otherwise a few bytes can use up all memory.",
            remedy: "Let the buffer grow as bytes arrive."),
    ]
}
