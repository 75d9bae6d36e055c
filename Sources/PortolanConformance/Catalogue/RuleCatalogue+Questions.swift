// SPDX-License-Identifier: Apache-2.0

extension RuleCatalogue {
    static let questions: [ConformanceRule] = [
        .must(
            "CAN-01", level: 1, needs: .any,
            "The handler accepts every URL of the conformance section.",
            because: "Users first try the URLs that the manifest shows.",
            remedy: "Correct can_init or the manifest."),
        .must(
            "CAN-02", level: 1, isEnforced: true,
            "The handler refuses schemes that it does not declare. An interposer declares any scheme.",
            because: "Otherwise it would load requests that belong to other handlers.",
            remedy: "Compare the scheme with your own first, or set PORTOLAN_ANY_SCHEME and declare that in the manifest."),
        .must(
            "CAN-03", level: 2, needs: .any,
            "can_init always returns the same result for a request. It calls nothing of the host and opens no file descriptor.",
            because: "The host calls can_init for every request, also for requests that are never loaded.",
            remedy: "Only read the request. Open nothing and remember nothing."),
        .must(
            "CAN-04", level: 3, needs: .any,
            "can_init works on any thread, and on eight threads at once.",
            because: "Requests come from every thread of a program.",
            remedy: "Change no shared memory in can_init."),
        .should(
            "CAN-05", level: 5, needs: .any,
            "can_init takes less than 5 microseconds.",
            because: "Every load waits for can_init.",
            remedy: "Compare bytes. Compile no pattern and read no file."),
        .must(
            "CAN-06", level: 2, needs: .any,
            "can_init returns the same result whether the caller writes the scheme in upper or in lower case.",
            because: "Schemes are case-insensitive (RFC 3986, section 3.1).",
            remedy: "Read request->scheme, which is in lower case, instead of request->url."),
        .must(
            "CAN-07", level: 2,
            "can_init returns a result for empty, malformed, very long and unusual URLs. It never crashes.",
            because: "URLs come from pages, mails and terminals.",
            remedy: "Check each length before you read. Do not copy into a buffer of fixed size."),
        .must(
            "CAN-08", level: 3,
            "can_init keeps no pointer into the request.",
            because: "The request is borrowed during the call. The host reuses its memory afterwards.",
            remedy: "Copy what you need later. It is better to need nothing."),
        .must(
            "CAN-09", level: 2, isEnforced: true,
            "The host does not ask a handler about a request that the handler itself has re-issued.",
            because: "An interposer would wrap itself without end.",
            remedy: "Do nothing. The host skips the handler."),
    ]
}
