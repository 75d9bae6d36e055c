// SPDX-License-Identifier: Apache-2.0

extension RuleCatalogue {
    /// Checked with the reports of Valgrind's memcheck during the other checks: `portolan check --sanitizer`.
    static let memory: [ConformanceRule] = [
        .must(
            "MEM-01", level: 4,
            "No memory is touched that is not the plugin's own, or lent to it.",
            because: "It is another's by then: data are damaged, or told to a peer.",
            remedy: "Keep what is needed after a call as a copy, check lengths before copying, free last."),
        .must(
            "MEM-02", level: 4,
            "Nothing is decided by, and nothing delivered of, memory that was never written.",
            because: "What it holds is another thing each time, and may be a secret.",
            remedy: "Give every variable and block a value first; deliver only as many bytes as were read."),
        .must(
            "MEM-03", level: 4,
            "Each block is freed once, by what belongs to the function that took it.",
            because: "The heap's lists are damaged, and the crash comes elsewhere.",
            remedy: "Let one place own each block; set its pointer to NULL when it is freed."),
        .must(
            "MEM-04", level: 4,
            "No block is lost: when the loads and the instance have ended, each is freed or can still be reached.",
            because: "Servers run for months.",
            remedy: "Free in destroy what make and the load took, and in deinit what init took."),
    ]
}
