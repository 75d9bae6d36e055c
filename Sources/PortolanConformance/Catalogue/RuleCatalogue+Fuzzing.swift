// SPDX-License-Identifier: Apache-2.0

extension RuleCatalogue {
    static let fuzzing: [ConformanceRule] = [
        .must(
            "FUZZ-01", level: 4,
            "Random URLs with the plugin's schemes do no harm.",
            because: "URLs come from unknown sources.",
            remedy: "Check each length and each digit."),
        .must(
            "FUZZ-02", level: 4, needs: .any,
            "Mutated URLs of the conformance section do no harm.",
            because: "Mutated URLs reach deeper into the code than random ones.",
            remedy: "Check every value that you compute from the URL."),
        .must(
            "FUZZ-03", level: 4, needs: .any,
            "Random methods, fields and properties do no harm.",
            because: "Callers pass on values that they received from others.",
            remedy: "Check each value before you use it."),
        .must(
            "FUZZ-04", level: 4, needs: .succeeds,
            "Pauses, resumes, stops and responses to challenges in random order do no harm.",
            because: "Every day, events come in an order that nobody expected.",
            remedy: "Write the load as a state machine."),
        .must(
            "FUZZ-05", level: 4,
            "Random configurations do no harm.",
            because: "People write configurations by hand.",
            remedy: "Check kinds and limits in init."),
        .must(
            "FUZZ-06", level: 4, needs: .any,
            "Random bytes from a nested load or in an upload do no harm.",
            because: "The bytes come from unknown sources.",
            remedy: "Use lengths when you parse."),
    ]
}
