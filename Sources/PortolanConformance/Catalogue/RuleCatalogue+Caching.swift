// SPDX-License-Identifier: Apache-2.0

extension RuleCatalogue {
    static let caching: [ConformanceRule] = [
        .must(
            "CACHE-01", level: 2, isEnforced: true, needs: .succeeds,
            "The storage policy is one of the published values.",
            because: "An unknown one could mean that a secret is kept.",
            remedy: "Use portolan_storage."),
        .must(
            "CACHE-02", level: 3, isEnforced: true, awaits: .cache,
            "An offered response is either confirmed or replaced, never both.",
            because: "The caller would get two bodies.",
            remedy: "Call cached_response_is_valid or did_receive_response."),
        .must(
            "CACHE-03", level: 3, isEnforced: true, awaits: .cache,
            "After a confirmation no data follows, and the load finishes.",
            because: "The host delivers the stored bytes.",
            remedy: "Call did_finish at once."),
        .must(
            "CACHE-04", level: 3, awaits: .cache,
            "A stored response that is garbage does no harm.",
            because: "Disks fail and versions change.",
            remedy: "Check what is read before using it."),
        .must(
            "CACHE-05", level: 3, awaits: .cache,
            "What came after a credential is not said to be storable for all.",
            because: "Another user would read it.",
            remedy: "Leave storage at 0 there."),
        .must(
            "CACHE-06", level: 3, awaits: .cache,
            "A source that changed is not confirmed.",
            because: "The caller would get old bytes.",
            remedy: "Compare the validator."),
    ]
}
