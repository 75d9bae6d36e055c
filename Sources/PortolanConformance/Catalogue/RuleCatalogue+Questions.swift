// SPDX-License-Identifier: Apache-2.0

extension RuleCatalogue {
    static let questions: [ConformanceRule] = [
        .must(
            "CAN-01", level: 1, needs: .any,
            "The handler takes every URL of the conformance section.",
            because: "What the manifest promises is what users try first.",
            remedy: "Correct can_init, or the manifest."),
        .must(
            "CAN-02", level: 1, isEnforced: true,
            "The handler refuses schemes that it does not declare; an interposer declares any.",
            because: "It would take the loads of others where the host asks it.",
            remedy: "Compare the scheme with your own first, or set PORTOLAN_ANY_SCHEME and say so in the manifest."),
        .must(
            "CAN-03", level: 2, needs: .any,
            "can_init is pure: the same answer a thousand times, no call of the host, no descriptor.",
            because: "It is asked for every request, also for those that are never loaded.",
            remedy: "Look at the request only; open nothing and remember nothing."),
        .must(
            "CAN-04", level: 3, needs: .any,
            "can_init may be asked on any thread, by eight at once.",
            because: "Requests come from every thread of a program.",
            remedy: "Change no shared memory in can_init."),
        .should(
            "CAN-05", level: 5, needs: .any,
            "can_init takes under 5 microseconds.",
            because: "It stands in front of every load.",
            remedy: "Compare bytes; compile no pattern and read no file."),
        .must(
            "CAN-06", level: 2, needs: .any,
            "The case in which a caller wrote the scheme does not matter.",
            because: "RFC 3986, section 3.1: schemes are equal without regard to case.",
            remedy: "Read request->scheme, which is in lower case, and not request->url."),
        .must(
            "CAN-07", level: 2,
            "Empty, malformed, very long and unusual URLs get an answer, never a crash.",
            because: "URLs come from pages, mails and terminals.",
            remedy: "Check each length before reading; make no copy of fixed size."),
        .must(
            "CAN-08", level: 3,
            "can_init keeps no pointer into the request.",
            because: "The request is lent for the call, and its memory is used anew.",
            remedy: "Copy what is needed later; better, need nothing."),
        .must(
            "CAN-09", level: 2, isEnforced: true,
            "A request that carries the handler's own mark is not offered to it again.",
            because: "An interposer would wrap itself without end.",
            remedy: "Nothing: the host does not ask."),
    ]
}
