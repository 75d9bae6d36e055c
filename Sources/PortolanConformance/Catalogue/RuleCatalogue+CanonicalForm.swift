// SPDX-License-Identifier: Apache-2.0

extension RuleCatalogue {
    static let canonicalForm: [ConformanceRule] = [
        .must(
            "CANON-01", level: 2, needs: .any,
            "The canonical form of a canonical request is the same request.",
            because: "The cache stores responses under the canonical form. If the form changes again, the cache finds nothing.",
            remedy: "Call give only if the request differs from its canonical form."),
        .must(
            "CANON-02", level: 2, needs: .any,
            "The canonical form keeps method, body, fields and properties.",
            because: "A stored response to GET must not be used for POST.",
            remedy: "Change the URL and nothing else."),
        .must(
            "CANON-03", level: 2, needs: .any,
            "The handler also accepts the canonical request.",
            because: "Otherwise the cache asks a handler that never loaded the resource.",
            remedy: "Keep the scheme, and every part of the request that can_init reads."),
        .must(
            "CANON-04", level: 2, needs: .any,
            "Cache equivalence is reflexive and symmetric.",
            because: "The host passes the two requests in either order.",
            remedy: "Compare the two canonical URLs, part by part."),
        .must(
            "CANON-05", level: 2, needs: .any,
            "Requests with different paths are not equivalent.",
            because: "Otherwise a caller gets the bytes of another resource.",
            remedy: "Compare the whole path, and the query if it matters."),
        .must(
            "CANON-06", level: 3, isEnforced: true, needs: .any,
            "canonical_request calls give at most once, before it returns, on its own thread.",
            because: "The structure with give exists only during the call.",
            remedy: "Call give once, as the last step."),
    ]
}
