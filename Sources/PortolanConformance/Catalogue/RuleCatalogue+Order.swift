// SPDX-License-Identifier: Apache-2.0

extension RuleCatalogue {
    static let order: [ConformanceRule] = [
        .must(
            "ORDER-01", level: 2, isEnforced: true, needs: .any,
            "The response comes before data, trailers and did_finish.",
            because: "The response tells callers what the bytes are.",
            remedy: "Call did_receive_response first, also for an empty body."),
        .must(
            "ORDER-02", level: 2, isEnforced: true, needs: .any,
            "A load has exactly one end: did_finish, did_fail, or a redirect that was taken.",
            because: "Without an end, a caller waits forever. With two, the caller is called after its memory is freed.",
            remedy: "Return immediately after each end, and make sure that each path has one."),
        .must(
            "ORDER-03", level: 2, isEnforced: true, needs: .any,
            "No event comes after the end of a load.",
            because: "The caller may have freed the object that receives events.",
            remedy: "Return after did_finish and did_fail."),
        .must(
            "ORDER-04", level: 2, isEnforced: true, needs: .redirects,
            "No event comes after a redirect that was taken. After one that was not taken, the response and its body come.",
            because: "The next load has already begun, or the caller wants to see the redirect itself.",
            remedy: "Check what was_redirected returns."),
        .must(
            "ORDER-05", level: 3, isEnforced: true, needs: .any,
            "Events of one load never overlap.",
            because: "Callers hold no lock while they receive events.",
            remedy: "Call the client only from inside a call of the host into this load."),
        .must(
            "ORDER-06", level: 3, isEnforced: true, needs: .any,
            "can_init, canonical_request, make and destroy emit no event.",
            because: "Callers expect no event there, and their memory may already be freed.",
            remedy: "Report events from run, or from start, resume, woken and answered."),
        .must(
            "ORDER-07", level: 3, needs: .succeeds,
            "The caller can stop a load from within each kind of event.",
            because: "Callers most often stop a load because of an event.",
            remedy: "Check what each client call returns, and return on PORTOLAN_STOPPED."),
        .must(
            "ORDER-08", level: 2, isEnforced: true, needs: .any,
            "A second response comes only if the handler sets PORTOLAN_MULTIPART.",
            because: "Callers that expect one response would join the two bodies.",
            remedy: "Set the flag, or send one response."),
        .must(
            "ORDER-09", level: 2, isEnforced: true, needs: .uploads,
            "The total in did_send never decreases, and never exceeds the length of the body.",
            because: "Otherwise progress bars run backwards.",
            remedy: "Pass the total so far, not the size of the last piece."),
        .must(
            "ORDER-10", level: 2, isEnforced: true, needs: .any,
            "The load calls cached_response_is_valid only if make received a stored response.",
            because: "Without a stored response, the host has nothing to deliver.",
            remedy: "Check whether the stored response in make is NULL."),
        .must(
            "ORDER-11", level: 2, isEnforced: true, needs: .fails,
            "A failure has an error.",
            because: "Callers branch on its code, and users read its message.",
            remedy: "Pass a portolan_error with a code and a message to did_fail."),
        .must(
            "ORDER-12", level: 3, needs: .any,
            "The load calls no function of the client after destroy has returned.",
            because: "The client's memory is freed by then.",
            remedy: "In destroy, join the threads that call wake."),
        .must(
            "ORDER-13", level: 2, isEnforced: true, needs: .any,
            "Interim responses come before the response and have a status from 100 to 199. Trailers come once, after the body.",
            because: "Otherwise both seem to belong to another response.",
            remedy: "Follow the order in client.h."),
    ]
}
