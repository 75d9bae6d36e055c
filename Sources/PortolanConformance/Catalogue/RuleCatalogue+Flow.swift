// SPDX-License-Identifier: Apache-2.0

extension RuleCatalogue {
    static let flow: [ConformanceRule] = [
        .must(
            "FLOW-01", level: 3, isEnforced: true, needs: .succeeds,
            "After a client call returns PORTOLAN_PAUSE, the load delivers nothing until resume.",
            because: "The reader has no room for more data.",
            remedy: "Keep a flag, and check it before each delivery."),
        .must(
            "FLOW-02", level: 3, needs: .succeeds,
            "With a pause at every delivery, no byte is lost or repeated.",
            because: "The client has taken the bytes for which it returns PORTOLAN_PAUSE.",
            remedy: "After resume, continue behind those bytes."),
        .must(
            "FLOW-03", level: 3, needs: .succeeds,
            "An immediate resume and a late resume give the same bytes.",
            because: "Some readers are fast, and some are slow.",
            remedy: "Wait for resume, not for a time."),
        .must(
            "FLOW-04", level: 3, needs: .succeeds,
            "A resume without a pause does nothing.",
            because: "A resume may arrive while the load is ending.",
            remedy: "Deliver only data that is waiting."),
        .must(
            "FLOW-05", level: 3, needs: .succeeds,
            "A stop during a pause ends the load without another event.",
            because: "The caller wants no more events.",
            remedy: "Deliver nothing from stop."),
        .must(
            "FLOW-06", level: 3, isEnforced: true, needs: .succeeds,
            "After a client call returns PORTOLAN_STOPPED, the load delivers nothing more.",
            because: "The caller does not want the rest.",
            remedy: "Return as soon as you get PORTOLAN_STOPPED."),
        .must(
            "FLOW-07", level: 3, isEnforced: true, needs: .succeeds,
            "A paused load does not call did_finish.",
            because: "did_finish would overtake bytes that wait.",
            remedy: "Call did_finish after resume."),
        .must(
            "FLOW-08", level: 4, needs: .large,
            "Memory stays bounded while a load with a large body is paused.",
            because: "A slow reader must not fill the computer's memory.",
            remedy: "Stop reading from the source while the load is paused."),
        .must(
            "FLOW-09", level: 4, needs: .succeeds,
            "A paused load uses no processor time.",
            because: "A loop that polls drains the battery.",
            remedy: "Wait for resume."),
        .must(
            "FLOW-10", level: 3, needs: .succeeds,
            "A paused load does not block another load.",
            because: "The readers of two loads are independent.",
            remedy: "Share no queue or lock between loads."),
    ]
}
