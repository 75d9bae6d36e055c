// SPDX-License-Identifier: Apache-2.0

extension RuleCatalogue {
    static let cancellation: [ConformanceRule] = [
        .must(
            "CANCEL-01", level: 3, isEnforced: true, needs: .succeeds,
            "Stopped at the k-th event, for every k, no event comes after stop has returned.",
            because: "The caller may have freed what would take it.",
            remedy: "Look at each answer, and deliver nothing from stop."),
        .must(
            "CANCEL-02", level: 4, needs: .succeeds,
            "A stop at any moment between events does no harm.",
            because: "Users press Ctrl-C when they like.",
            remedy: "Guard what stop shares with the load."),
        .must(
            "CANCEL-03", level: 3, needs: .succeeds,
            "A stop from another thread while an event is being delivered ends in no deadlock.",
            because: "The reader may wait for whoever stops.",
            remedy: "Hold no lock while calling the client."),
        .must(
            "CANCEL-04", level: 3, needs: .succeeds,
            "stop returns within 100 ms.",
            because: "A window's close button waits for it.",
            remedy: "Set a flag and wake; wait for nothing."),
        .must(
            "CANCEL-05", level: 3, needs: .succeeds,
            "Within a second of a stop the load's threads and descriptors are gone.",
            because: "A hundred cancelled loads exhaust a process.",
            remedy: "Close them in stop or destroy."),
        .must(
            "CANCEL-06", level: 3, needs: .challenges,
            "A stop while a challenge waits ends the load.",
            because: "Users close the password window.",
            remedy: "Return when did_receive_challenge says PORTOLAN_STOPPED."),
        .must(
            "CANCEL-07", level: 3, needs: .uploads,
            "A stop while the upload body waits ends the load.",
            because: "Uploads are the longest loads.",
            remedy: "Return when read_body says PORTOLAN_STOPPED."),
        .must(
            "CANCEL-08", level: 3, needs: .nested,
            "A stop reaches the nested load.",
            because: "The inner peer would send on for nobody.",
            remedy: "Return; the host closes the inner load."),
        .must(
            "CANCEL-09", level: 3, needs: .succeeds,
            "Stopping one load leaves the others alone.",
            because: "They belong to other callers.",
            remedy: "Keep the stop flag in the load."),
    ]
}
