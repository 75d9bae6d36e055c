// SPDX-License-Identifier: Apache-2.0

extension RuleCatalogue {
    static let life: [ConformanceRule] = [
        .must(
            "LIFE-01", level: 2, isEnforced: true, needs: .any,
            "make emits no event.",
            because: "Nothing receives events before the load has started.",
            remedy: "Keep what make finds, and report it after the load has started. Or refuse the request."),
        .must(
            "LIFE-02", level: 2, needs: .any,
            "Every load of a URL of the conformance section ends within its time limit.",
            because: "If a load does not end, the program waits forever.",
            remedy: "End each path with did_finish, did_fail or a redirect."),
        .must(
            "LIFE-03", level: 2, needs: .any,
            "start, resume, woken and answered of an event-driven load return within 50 ms.",
            because: "These functions run on threads that other loads need.",
            remedy: "Do slow work on a thread of your own and call wake, or write a blocking load."),
        .must(
            "LIFE-04", level: 3, isEnforced: true, needs: .any,
            "A load that is stopped before its start never emits an event.",
            because: "The caller already knows that the load is over.",
            remedy: "Do no work before run or start is called."),
        .must(
            "LIFE-05", level: 3, needs: .succeeds,
            "A stop that arrives while run is about to return does no harm.",
            because: "The host cannot know that run is about to return.",
            remedy: "Keep the memory that stop uses until destroy."),
        .must(
            "LIFE-06", level: 3, needs: .hangs,
            "If run waits in a system call, a stop ends that wait.",
            because: "The thread belongs to the host, which has only a few.",
            remedy: "Provide a stop function that shuts the socket down or writes to a pipe."),
        .must(
            "LIFE-07", level: 3, needs: .any,
            "destroy without a start, destroy right after a stop, and a make that refuses each leave nothing behind.",
            because: "Callers often cancel a load early.",
            remedy: "Free everything in destroy and nowhere else, whatever happened before."),
        .must(
            "LIFE-08", level: 3, needs: .succeeds,
            "The load does not use the request, the stored response or the client after destroy has returned.",
            because: "The host reuses their memory for the next load.",
            remedy: "In destroy, join every thread that uses them."),
        .must(
            "LIFE-09", level: 3, needs: .succeeds,
            "A second load of the same URL, made while the first runs, does not depend on the first.",
            because: "Two parts of a program may load the same URL.",
            remedy: "Keep the state of a load in that load."),
        .must(
            "LIFE-10", level: 2, needs: .succeeds,
            "If a load has ended, the next load of the same URL has the same result.",
            because: "Only the next load shows what an earlier load left behind.",
            remedy: "Reset what a load used, or do not keep it."),
        .must(
            "LIFE-11", level: 3, needs: .succeeds,
            "destroy returns within a second. After that, no thread of the load can call the client.",
            because: "The host then frees the client.",
            remedy: "Wake and join the load's threads in destroy. Do not wait for a peer."),
        .must(
            "LIFE-12", level: 3, needs: .any,
            "The plugin writes to no const argument: not to a request or what it points to, and not to the configuration of init.",
            because: "The host and other loads read the same memory.",
            remedy: "Copy what you want to change."),
    ]
}
