// SPDX-License-Identifier: Apache-2.0

extension RuleCatalogue {
    static let threads: [ConformanceRule] = [
        .must(
            "THREAD-01", level: 3, isEnforced: true, needs: .succeeds,
            "The client is called only from inside a call into the load, or on the load-thread. The plugin's own threads only call wake.",
            because: "Otherwise events overlap, or come after the end.",
            remedy: "Call wake from your own threads, and deliver in woken."),
        .must(
            "THREAD-02", level: 3, needs: .succeeds,
            "A load may be made on one thread, started on a second, resumed on a third and stopped on a fourth.",
            because: "The host uses any thread that is free.",
            remedy: "Keep no state of a load in thread-local memory."),
        .must(
            "THREAD-03", level: 3, needs: .succeeds,
            "Two loads at once each deliver their own bytes.",
            because: "It is easy to share a buffer by mistake.",
            remedy: "Give each load its own buffer."),
        .must(
            "THREAD-04", level: 3, needs: .succeeds,
            "After each call, signal masks, signal handlers, locale and rounding mode are the same as before.",
            because: "All of these belong to the process.",
            remedy: "Restore what a library changed, or use its thread-safe functions."),
        .should(
            "THREAD-05", level: 4, needs: .succeeds,
            "256 loads at once need only a bounded number of threads.",
            because: "Each thread costs memory and time.",
            remedy: "Share threads between loads."),
        .must(
            "THREAD-06", level: 3, needs: .succeeds,
            "The plugin holds no lock while it calls the client.",
            because: "The client may call back, or wait for another load.",
            remedy: "Unlock before each client call."),
        .must(
            "THREAD-07", level: 3, needs: .succeeds,
            "A client call that blocks in one load does not block another load.",
            because: "The readers of two loads are independent.",
            remedy: "Share no lock between loads."),
        .must(
            "THREAD-08", level: 4, needs: .succeeds,
            "When no load is left, every thread of the plugin has ended or sleeps.",
            because: "A thread in a busy loop uses the processor forever.",
            remedy: "Wait on a condition variable, not in a loop."),
    ]
}
