// SPDX-License-Identifier: Apache-2.0

extension RuleCatalogue {
    static let body: [ConformanceRule] = [
        .must(
            "BODY-01", level: 2, needs: .succeeds,
            "A load returns the digest, length, MIME type and status that the manifest states.",
            because: "This is the purpose of a load.",
            remedy: "Compare the delivered bytes with the source. If the manifest is wrong, correct it."),
        .must(
            "BODY-02", level: 2, isEnforced: true, needs: .succeeds,
            "If the response states an expected length, the body has exactly that number of bytes.",
            because: "Callers use the length for buffers and progress bars.",
            remedy: "State the exact length, or -1 if it is unknown."),
        .must(
            "BODY-03", level: 3, needs: .succeeds,
            "Bytes that did_load passes to the client do not change during the call.",
            because: "The client checks the bytes first, and reads them again later.",
            remedy: "Pass memory that nothing writes to until the call has returned."),
        .must(
            "BODY-04", level: 2, isEnforced: true, needs: .succeeds,
            "All bytes that did_load passes are readable. A call with length 0 does not end the body.",
            because: "If the length is wrong, the client reads memory beyond the buffer.",
            remedy: "Pass each pointer with the length of its own buffer."),
        .should(
            "BODY-05", level: 5, needs: .large,
            "Bodies of more than 1 MiB are delivered in pieces of 4 KiB or more.",
            because: "Each piece costs a call.",
            remedy: "Fill a buffer of some KiB before you call did_load."),
        .must(
            "BODY-06", level: 2, needs: .empty,
            "A load with an empty body sends a response and finishes.",
            because: "An empty body is a result, not a failure.",
            remedy: "Send the response and finish."),
        .must(
            "BODY-07", level: 4, needs: .large,
            "Lengths and offsets have 64 bits. A body of more than 4 GiB arrives completely.",
            because: "A 32-bit counter overflows silently.",
            remedy: "Count in int64_t."),
        .must(
            "BODY-08", level: 2, needs: .uploads,
            "NUL bytes and bytes that are not UTF-8 arrive unchanged.",
            because: "Most resources are not text.",
            remedy: "Use lengths, not strlen."),
        .must(
            "BODY-09", level: 2, isEnforced: true, needs: .succeeds,
            "The MIME type and the charset are well-formed (RFC 9110, section 8.3).",
            because: "Other code compares and parses both.",
            remedy: "Write type/subtype without parameters, and the charset as a token."),
        .must(
            "BODY-10", level: 3, needs: .fails,
            "If the source of a body ends too early, the load fails. It never finishes.",
            because: "Half a file that looks complete is worse than none.",
            remedy: "Compare the received length with the announced length, and fail with PORTOLAN_ERROR_TRUNCATED."),
        .must(
            "BODY-11", level: 2, isEnforced: true, needs: .succeeds,
            "The URL of a response is an absolute, valid URL.",
            because: "Relative links in the body are resolved against this URL.",
            remedy: "Leave the URL absent, or give the complete URL."),
    ]
}
