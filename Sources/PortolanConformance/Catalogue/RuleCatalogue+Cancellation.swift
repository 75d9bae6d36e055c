// SPDX-License-Identifier: Apache-2.0

extension RuleCatalogue {
    static let cancellation: [ConformanceRule] = [
        .must(
            "CANCEL-01", level: 3, isEnforced: true, needs: .succeeds,
            "A load that is stopped at any of its events emits no event after stop has returned.",
            because: "The caller may have freed the object that receives events.",
            remedy: "Check what each client call returns, and deliver nothing from stop."),
        .must(
            "CANCEL-02", level: 4, needs: .succeeds,
            "A stop at any moment between events does no harm.",
            because: "Users can press Ctrl-C at any time.",
            remedy: "Protect the data that stop shares with the load."),
        .must(
            "CANCEL-03", level: 3, needs: .succeeds,
            "A stop from another thread during an event causes no deadlock.",
            because: "The reader may wait for the thread that calls stop.",
            remedy: "Hold no lock while you call the client."),
        .must(
            "CANCEL-04", level: 3, needs: .succeeds,
            "stop returns within 100 ms.",
            because: "The close button of a window waits for stop.",
            remedy: "Set a flag, wake the load, and wait for nothing."),
        .must(
            "CANCEL-05", level: 3, needs: .succeeds,
            "Within a second after a stop, the load's threads have ended and its file descriptors are closed.",
            because: "A hundred cancelled loads would exhaust a process.",
            remedy: "Close them in stop or destroy."),
        .must(
            "CANCEL-06", level: 3, needs: .challenges,
            "A stop ends a load that waits for the response to a challenge.",
            because: "Users may close the password window.",
            remedy: "Return when did_receive_challenge returns PORTOLAN_STOPPED."),
        .must(
            "CANCEL-07", level: 3, needs: .uploads,
            "A stop ends a load that waits for the upload body.",
            because: "Uploads are the longest loads.",
            remedy: "Return when read_body returns PORTOLAN_STOPPED."),
        .must(
            "CANCEL-08", level: 3, needs: .nested,
            "A stop also ends the nested load.",
            because: "Otherwise the peer of the nested load continues to send.",
            remedy: "Return. The host closes the nested load."),
        .must(
            "CANCEL-09", level: 3, needs: .succeeds,
            "Stopping one load does not affect other loads.",
            because: "Other loads belong to other callers.",
            remedy: "Keep the stop flag in the load."),
    ]
}
