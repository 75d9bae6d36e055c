// SPDX-License-Identifier: Apache-2.0

extension RuleCatalogue {
    static let challenges: [ConformanceRule] = [
        .must(
            "CHAL-01", level: 2, isEnforced: true, needs: .challenges,
            "The protection space of a challenge is complete and well-formed.",
            because: "The host looks up credentials by protection space.",
            remedy: "Set protocol, host, port and method."),
        .must(
            "CHAL-02", level: 3, needs: .challenges,
            "A load accepts the response to a challenge later, and from another thread.",
            because: "A user has to type the password.",
            remedy: "Wait in the call, or for answered."),
        .must(
            "CHAL-03", level: 2, needs: .challenges,
            "With the right credential, the load completes.",
            because: "This is the purpose of a challenge.",
            remedy: "Use the user and the password as given, in UTF-8."),
        .must(
            "CHAL-04", level: 2, needs: .challenges,
            "After a wrong credential, a new challenge comes. Its failure count is one higher, and it has the last error.",
            because: "The caller must know that its credential was wrong.",
            remedy: "Count the failures in the load, and set previous."),
        .must(
            "CHAL-05", level: 2, needs: .challenges,
            "After PORTOLAN_CANCEL, the load fails with the code for a cancelled challenge.",
            because: "The caller must distinguish this from a wrong password.",
            remedy: "Fail with PORTOLAN_ERROR_AUTHENTICATION_CANCELLED."),
        .must(
            "CHAL-06", level: 2, needs: .challenges,
            "After PORTOLAN_WITHOUT, the load ends with what the peer sends without a credential, or with the code for a missing one.",
            because: "The load must not hang, or repeat the challenge forever.",
            remedy: "Continue without a credential, or fail with PORTOLAN_ERROR_AUTHENTICATION_REQUIRED."),
        .must(
            "CHAL-07", level: 3, needs: .challenges,
            "After PORTOLAN_REJECT_SPACE, a challenge for the next space comes, or the load fails with the code for a missing credential.",
            because: "Peers may offer several protection spaces.",
            remedy: "Send a challenge for the next space, or fail."),
        .must(
            "CHAL-08", level: 3, needs: .challenges,
            "If the peer withdraws a challenge that is waiting, the load continues or fails in order.",
            because: "Peers close connections.",
            remedy: "Call did_cancel_challenge, then continue or fail."),
        .must(
            "CHAL-09", level: 3, needs: .challenges,
            "No log line, error, URL or returned field contains a credential.",
            because: "Other people read logs.",
            remedy: "Quote the realm, never the credential."),
        .must(
            "CHAL-10", level: 4, needs: .challenges,
            "After a hundred wrong credentials, the load fails.",
            because: "Otherwise a program that responds automatically loops forever.",
            remedy: "Give up after a few attempts."),
    ]
}
