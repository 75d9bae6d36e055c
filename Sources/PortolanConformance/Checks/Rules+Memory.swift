// SPDX-License-Identifier: Apache-2.0

extension RuleCatalogue {
    /// These rules have no checks. `portolan check --sanitizer` runs the other checks under Valgrind's memcheck, and
    /// reports the errors that memcheck finds.
    static let memory: [CheckedRule] = [
        .must(
            "MEM-01", level: 4,
            "The plugin accesses only its own memory and memory that it borrows.",
            because: "Other memory belongs to other code. Its data is damaged, or sent to a peer.",
            remedy: "Copy what you need after a call, check lengths before you copy, and free memory last."),
        .must(
            "MEM-02", level: 4,
            "The plugin makes no decision from uninitialised memory, and delivers no uninitialised bytes.",
            because: "The value differs each time, and may be a secret.",
            remedy: "Initialise every variable and block. Deliver only the bytes that were read."),
        .must(
            "MEM-03", level: 4,
            "Each block is freed once, with the function that matches its allocation.",
            because: "Otherwise the heap is damaged, and the crash comes somewhere else.",
            remedy: "Let one place own each block, and set its pointer to NULL when you free it."),
        .must(
            "MEM-04", level: 4,
            "No block is lost. When the loads and the instance have ended, each block is freed or still reachable.",
            because: "Servers run for months.",
            remedy: "Free in destroy what make and the load allocated, and in deinit what init allocated."),
    ]
}
