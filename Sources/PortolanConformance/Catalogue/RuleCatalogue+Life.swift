// SPDX-License-Identifier: Apache-2.0

extension RuleCatalogue {
    static let life: [ConformanceRule] = [
        .must(
            "LIFE-01", level: 2, isEnforced: true, needs: .any,
            "Making a load emits no event.",
            because: "Nobody listens before the load is started.",
            remedy: "Keep what make finds, and report it when the load starts, or refuse."),
        .must(
            "LIFE-02", level: 2, needs: .any,
            "Every URL of the conformance section ends within its time.",
            because: "A load without an end is a program that waits for ever.",
            remedy: "End each path with did_finish, did_fail or a redirect."),
        .must(
            "LIFE-03", level: 2, needs: .any,
            "start, resume, woken and answered of an event-driven load return within 50 ms.",
            because: "They run on threads that other loads need.",
            remedy: "Do what takes time on a thread of your own and call wake, or write a blocking load."),
        .must(
            "LIFE-04", level: 3, isEnforced: true, needs: .any,
            "A load that is stopped before its start never emits an event.",
            because: "The caller has been told that it is over.",
            remedy: "Do nothing before run or start is called."),
        .must(
            "LIFE-05", level: 3, needs: .succeeds,
            "A stop that arrives while run is about to return does no harm.",
            because: "Nobody can know that it is late.",
            remedy: "Keep what stop touches until destroy."),
        .must(
            "LIFE-06", level: 3, needs: .hangs,
            "A stop while run waits in a system call of its own ends that wait.",
            because: "The thread belongs to the host, and there are not many.",
            remedy: "Give a stop that shuts the socket down or writes to a pipe."),
        .must(
            "LIFE-07", level: 3, needs: .any,
            "destroy without a start, destroy right after a stop, and a refused make each leave nothing behind.",
            because: "Callers change their minds all the time.",
            remedy: "Free in destroy alone, whatever happened before."),
        .must(
            "LIFE-08", level: 3, needs: .succeeds,
            "Nothing of request, stored response or client is touched after destroy has returned.",
            because: "Their memory is the next load's.",
            remedy: "Join what uses them in destroy."),
        .must(
            "LIFE-09", level: 3, needs: .succeeds,
            "A second load of the same URL, made while the first runs, is independent of it.",
            because: "Two parts of a program ask for the same thing.",
            remedy: "Keep the state of a load in the load."),
        .must(
            "LIFE-10", level: 2, needs: .succeeds,
            "A load that ended leaves the next one of the same URL the same result.",
            because: "What one load leaves behind is found only by the next one.",
            remedy: "Reset, or do not keep, what a load used."),
        .must(
            "LIFE-11", level: 3, needs: .succeeds,
            "destroy returns within a second, when nothing of the load can call the client any more.",
            because: "The host gives the client's memory back then.",
            remedy: "Wake and join the load's threads in destroy; wait for no peer."),
        .must(
            "LIFE-12", level: 3, needs: .any,
            "Nothing is written to what is lent as const: a request and all that it points at, and what init is told.",
            because: "The host and other loads read it.",
            remedy: "Copy what is to be changed."),
    ]
}
