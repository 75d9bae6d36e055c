// SPDX-License-Identifier: Apache-2.0

extension RuleCatalogue {
    static let challenges: [ConformanceRule] = [
        .must(
            "CHAL-01", level: 2, isEnforced: true, needs: .challenges,
            "The protection space is complete and well-formed.",
            because: "Credentials are looked up by it.",
            remedy: "Set protocol, host, port and method."),
        .must(
            "CHAL-02", level: 3, needs: .challenges,
            "An answer that comes later, from another thread, works.",
            because: "A person types it.",
            remedy: "Wait in the call, or for answered."),
        .must(
            "CHAL-03", level: 2, needs: .challenges,
            "The right credential completes the load.",
            because: "That is what the question was for.",
            remedy: "Use user and password as given, in UTF-8."),
        .must(
            "CHAL-04", level: 2, needs: .challenges,
            "A wrong credential is asked about again: the count rises by one and the last error is given.",
            because: "The caller must know that its answer was wrong.",
            remedy: "Count failures in the load and set previous."),
        .must(
            "CHAL-05", level: 2, needs: .challenges,
            "PORTOLAN_CANCEL fails with the code for a cancelled question.",
            because: "The caller must tell it from a wrong password.",
            remedy: "Fail with PORTOLAN_ERROR_AUTHENTICATION_CANCELLED."),
        .must(
            "CHAL-06", level: 2, needs: .challenges,
            "PORTOLAN_WITHOUT ends with what the peer gives then, or with the code for a missing credential.",
            because: "The load must not hang or ask for ever.",
            remedy: "Go on without, or fail with PORTOLAN_ERROR_AUTHENTICATION_REQUIRED."),
        .must(
            "CHAL-07", level: 3, needs: .challenges,
            "PORTOLAN_REJECT_SPACE offers the next space, or fails with the code for a missing credential.",
            because: "Peers offer several.",
            remedy: "Ask for the next one, or fail."),
        .must(
            "CHAL-08", level: 3, needs: .challenges,
            "A challenge that the peer withdraws while it waits leaves the load sound.",
            because: "Peers close connections.",
            remedy: "Call did_cancel_challenge and go on or fail."),
        .must(
            "CHAL-09", level: 3, needs: .challenges,
            "No credential stands in a log line, an error, a URL or a field given back.",
            because: "Logs are read by others.",
            remedy: "Quote the realm, never the answer."),
        .must(
            "CHAL-10", level: 4, needs: .challenges,
            "A hundred wrong answers end in a failure.",
            because: "A caller that answers by itself would loop for ever.",
            remedy: "Give up after a few."),
    ]
}
