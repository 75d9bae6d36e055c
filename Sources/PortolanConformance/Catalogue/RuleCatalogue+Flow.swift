// SPDX-License-Identifier: Apache-2.0

extension RuleCatalogue {
    static let flow: [ConformanceRule] = [
        .must(
            "FLOW-01", level: 3, isEnforced: true, needs: .succeeds,
            "After the answer PORTOLAN_PAUSE nothing is delivered until resume.",
            because: "The reader has no room.",
            remedy: "Keep a flag, and look at it before each delivery."),
        .must(
            "FLOW-02", level: 3, needs: .succeeds,
            "Pausing at every delivery loses and repeats nothing.",
            because: "A paused run has been taken.",
            remedy: "Go on behind it after resume."),
        .must(
            "FLOW-03", level: 3, needs: .succeeds,
            "A resume at once and one later give the same bytes.",
            because: "Readers are as fast as they are.",
            remedy: "Depend on resume, not on time."),
        .must(
            "FLOW-04", level: 3, needs: .succeeds,
            "A resume without a pause does nothing.",
            because: "It may cross with an end.",
            remedy: "Deliver only what waits."),
        .must(
            "FLOW-05", level: 3, needs: .succeeds,
            "A stop while paused ends silently.",
            because: "The caller has gone.",
            remedy: "Deliver nothing from stop."),
        .must(
            "FLOW-06", level: 3, isEnforced: true, needs: .succeeds,
            "The answer PORTOLAN_STOPPED is the last delivery.",
            because: "Nobody takes the rest.",
            remedy: "Return when you see it."),
        .must(
            "FLOW-07", level: 3, isEnforced: true, needs: .succeeds,
            "A finish is not delivered while paused.",
            because: "It would overtake bytes that wait.",
            remedy: "Finish after resume."),
        .must(
            "FLOW-08", level: 4, needs: .large,
            "Memory stays bounded while a large body is paused.",
            because: "A slow reader must not fill the machine.",
            remedy: "Stop reading from the source while paused."),
        .must(
            "FLOW-09", level: 4, needs: .succeeds,
            "A paused load uses no processor time.",
            because: "A loop that asks again and again empties batteries.",
            remedy: "Wait for resume."),
        .must(
            "FLOW-10", level: 3, needs: .succeeds,
            "One paused load does not hold up another.",
            because: "Readers are strangers to each other.",
            remedy: "Share no queue or lock between loads."),
    ]
}
