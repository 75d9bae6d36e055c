// SPDX-License-Identifier: Apache-2.0

extension RuleCatalogue {
    static let order: [ConformanceRule] = [
        .must(
            "ORDER-01", level: 2, isEnforced: true, needs: .any,
            "A response comes before data, trailers and the finish.",
            because: "Callers decide by the response what the bytes are.",
            remedy: "Call did_receive_response first, for an empty body, too."),
        .must(
            "ORDER-02", level: 2, isEnforced: true, needs: .any,
            "A load has exactly one end: a finish, a failure or a redirect that was taken.",
            because: "Without one a caller waits for ever; with two it is called after its memory is gone.",
            remedy: "Return at once after each end, and end each path."),
        .must(
            "ORDER-03", level: 2, isEnforced: true, needs: .any,
            "Nothing comes after the end.",
            because: "The caller may have freed what would take it.",
            remedy: "Return after did_finish and did_fail."),
        .must(
            "ORDER-04", level: 2, isEnforced: true, needs: .redirects,
            "Nothing comes after a redirect that was taken, and the response with its body after one that was not.",
            because: "The next load has begun; or the caller wanted to see the redirect itself.",
            remedy: "Look at what was_redirected answers."),
        .must(
            "ORDER-05", level: 3, isEnforced: true, needs: .any,
            "Events of one load never overlap.",
            because: "Callers hold no lock while they take them.",
            remedy: "Call the client from the load's own turns only."),
        .must(
            "ORDER-06", level: 3, isEnforced: true, needs: .any,
            "No event comes from within can_init, canonical_request, make or destroy.",
            because: "Callers do not expect one there, and their memory may be gone.",
            remedy: "Report from run, or from the turns of the load."),
        .must(
            "ORDER-07", level: 3, needs: .succeeds,
            "A stop from within each kind of event works.",
            because: "A caller most often gives up because of what it was just told.",
            remedy: "Look at each answer and return on PORTOLAN_STOPPED."),
        .must(
            "ORDER-08", level: 2, isEnforced: true, needs: .any,
            "A second response comes only where the handler declares PORTOLAN_MULTIPART.",
            because: "Callers of one answer would glue two together.",
            remedy: "Set the flag, or send one response."),
        .must(
            "ORDER-09", level: 2, isEnforced: true, needs: .uploads,
            "Totals of sent bytes never fall and never pass the body's length.",
            because: "Progress bars run backwards.",
            remedy: "Give the total so far, not the last piece."),
        .must(
            "ORDER-10", level: 2, isEnforced: true, needs: .any,
            "cached_response_is_valid is called only where a stored response was offered.",
            because: "There is nothing that could be delivered.",
            remedy: "Look whether make was given one."),
        .must(
            "ORDER-11", level: 2, isEnforced: true, needs: .fails,
            "A failure carries an error.",
            because: "Callers branch on its code and users read its message.",
            remedy: "Give did_fail a portolan_error with a code and a message."),
        .must(
            "ORDER-12", level: 3, needs: .any,
            "No function of the client is called after destroy has returned.",
            because: "The client's memory has ended.",
            remedy: "Join the threads that call wake, in destroy."),
        .must(
            "ORDER-13", level: 2, isEnforced: true, needs: .any,
            "Interim responses come before the response and have a status of 100 to 199; trailers come once, after the body.",
            because: "They would be taken for another response's.",
            remedy: "Keep to the order in client.h."),
    ]
}
