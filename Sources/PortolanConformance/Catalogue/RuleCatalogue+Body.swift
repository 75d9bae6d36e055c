// SPDX-License-Identifier: Apache-2.0

extension RuleCatalogue {
    static let body: [ConformanceRule] = [
        .must(
            "BODY-01", level: 2, needs: .succeeds,
            "A URL yields what the manifest states: digest, length, MIME type, status.",
            because: "This is what a load is for.",
            remedy: "Compare what comes with what the source has; correct the manifest where that is wrong."),
        .must(
            "BODY-02", level: 2, isEnforced: true, needs: .succeeds,
            "The count of bytes equals the expected length where one was given.",
            because: "Callers size memory and progress by it.",
            remedy: "Count before you promise, or say -1."),
        .must(
            "BODY-03", level: 3, needs: .succeeds,
            "Lent bytes do not change while the client looks at them.",
            because: "The client reads them after checking them.",
            remedy: "Lend memory that nothing writes until the call has returned."),
        .must(
            "BODY-04", level: 2, isEnforced: true, needs: .succeeds,
            "Lent bytes are readable for their whole length, and a run of length 0 is no end of the body.",
            because: "A wrong length reads a neighbour's memory.",
            remedy: "Pass the pointer with its own length."),
        .should(
            "BODY-05", level: 5, needs: .large,
            "Bodies over 1 MiB come in runs of 4 KiB or more.",
            because: "Each run costs a call.",
            remedy: "Fill a buffer of some KiB before calling did_load."),
        .must(
            "BODY-06", level: 2, needs: .empty,
            "An empty body is a response and a finish.",
            because: "Empty is a result, not a failure.",
            remedy: "Send the response and finish."),
        .must(
            "BODY-07", level: 4, needs: .large,
            "Lengths and offsets are 64 bits wide: a body over 4 GiB arrives whole.",
            because: "A 32-bit count wraps in silence.",
            remedy: "Count in int64_t."),
        .must(
            "BODY-08", level: 2, needs: .uploads,
            "NUL and bytes that are not UTF-8 pass unchanged.",
            because: "Most of what is loaded is no text.",
            remedy: "Use lengths, not strlen."),
        .must(
            "BODY-09", level: 2, isEnforced: true, needs: .succeeds,
            "The MIME type and the charset are well-formed (RFC 9110, section 8.3).",
            because: "They are compared and parsed by others.",
            remedy: "Write type/subtype without parameters, and the charset as a token."),
        .must(
            "BODY-10", level: 3, needs: .fails,
            "A body that is cut short at its source is a failure, never a finish.",
            because: "Half a file that looks whole is worse than none.",
            remedy: "Compare what came with what was announced, and fail with PORTOLAN_ERROR_TRUNCATED."),
        .must(
            "BODY-11", level: 2, isEnforced: true, needs: .succeeds,
            "The URL of a response is absolute and parses.",
            because: "Relative links in the body are resolved against it.",
            remedy: "Leave it absent, or give the whole URL."),
    ]
}
