// SPDX-License-Identifier: Apache-2.0

extension RuleCatalogue {
    static let threads: [ConformanceRule] = [
        .must(
            "THREAD-01", level: 3, isEnforced: true, needs: .succeeds,
            "The client is called only from inside a call into the load, or on the load-thread; own threads only wake.",
            because: "Events would overlap, and come after the end.",
            remedy: "Call wake from own threads, and deliver in woken."),
        .must(
            "THREAD-02", level: 3, needs: .succeeds,
            "A load may be made on one thread, started on a second, resumed on a third and stopped on a fourth.",
            because: "The host has whichever thread is free.",
            remedy: "Keep nothing of a load in thread-local memory."),
        .must(
            "THREAD-03", level: 3, needs: .succeeds,
            "Two loads at once both give their own bytes.",
            because: "Buffers are shared by mistake more often than by plan.",
            remedy: "Give each load its buffer."),
        .must(
            "THREAD-04", level: 3, needs: .succeeds,
            "Signal masks and handlers, locale and rounding mode are as before.",
            because: "They belong to the process.",
            remedy: "Put back what a library changed, or use its thread-safe form."),
        .should(
            "THREAD-05", level: 4, needs: .succeeds,
            "256 loads need no more than a bounded number of threads.",
            because: "Each thread costs memory and time.",
            remedy: "Share threads between loads."),
        .must(
            "THREAD-06", level: 3, needs: .succeeds,
            "No lock of the plugin is held while the client is called.",
            because: "The client may call back, or wait for another load.",
            remedy: "Unlock before each client call."),
        .must(
            "THREAD-07", level: 3, needs: .succeeds,
            "A blocked client call of one load does not stop another load.",
            because: "Readers are strangers to each other.",
            remedy: "Share no lock between loads."),
        .must(
            "THREAD-08", level: 4, needs: .succeeds,
            "Every thread of the plugin has ended, or sleeps, once no load is left.",
            because: "A thread that spins costs for ever.",
            remedy: "Wait on a condition, not in a loop."),
    ]
}
