// SPDX-License-Identifier: Apache-2.0

extension RuleCatalogue {
    static let fuzzing: [ConformanceRule] = [
        .must(
            "FUZZ-01", level: 4,
            "Random URLs of its schemes do no harm.",
            because: "URLs come from strangers.",
            remedy: "Check each length and each digit."),
        .must(
            "FUZZ-02", level: 4, needs: .any,
            "Mutated URLs of the conformance section do no harm.",
            because: "Those reach deeper than random ones.",
            remedy: "Check what is computed from the URL."),
        .must(
            "FUZZ-03", level: 4, needs: .any,
            "Random methods, fields and properties do no harm.",
            because: "Callers pass on what they were given.",
            remedy: "Check before use."),
        .must(
            "FUZZ-04", level: 4, needs: .succeeds,
            "Random schedules of pause, resume, stop and answers do no harm.",
            because: "Orders that nobody thought of happen every day.",
            remedy: "Write the load as a state machine."),
        .must(
            "FUZZ-05", level: 4,
            "Random configuration does no harm.",
            because: "People write it by hand.",
            remedy: "Check kinds and bounds in init."),
        .must(
            "FUZZ-06", level: 4, needs: .any,
            "Random bytes from an inner load or in an upload do no harm.",
            because: "They come from strangers.",
            remedy: "Parse with lengths."),
    ]
}
