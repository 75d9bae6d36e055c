// SPDX-License-Identifier: Apache-2.0

extension RuleCatalogue {
    static let caching: [ConformanceRule] = [
        .must(
            "CACHE-01", level: 2, isEnforced: true, needs: .succeeds,
            "The storage policy is one of the published values.",
            because: "With an unknown value, a secret could be stored.",
            remedy: "Use a value of portolan_storage."),
        .must(
            "CACHE-02", level: 3, isEnforced: true, awaits: .cache,
            "A stored response that make received is either confirmed or replaced, never both.",
            because: "Otherwise the caller gets two bodies.",
            remedy: "Call cached_response_is_valid or did_receive_response."),
        .must(
            "CACHE-03", level: 3, isEnforced: true, awaits: .cache,
            "After a load has confirmed a stored response, it delivers no data and finishes.",
            because: "The host delivers the stored bytes.",
            remedy: "Call did_finish immediately."),
        .must(
            "CACHE-04", level: 3, awaits: .cache,
            "A damaged stored response does no harm.",
            because: "Disks fail and versions change.",
            remedy: "Check the stored data before you use it."),
        .must(
            "CACHE-05", level: 3, awaits: .cache,
            "A response that needed a credential is not marked as storable for all users.",
            because: "Another user could read it.",
            remedy: "Leave storage at 0 for such a response."),
        .must(
            "CACHE-06", level: 3, awaits: .cache,
            "If the source has changed, the stored response is not confirmed.",
            because: "Otherwise the caller gets old bytes.",
            remedy: "Compare the validator."),
    ]
}
