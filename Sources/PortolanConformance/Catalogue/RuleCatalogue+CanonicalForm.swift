// SPDX-License-Identifier: Apache-2.0

extension RuleCatalogue {
    static let canonicalForm: [ConformanceRule] = [
        .must(
            "CANON-01", level: 2, needs: .any,
            "The canonical form of a canonical request is the same request.",
            because: "It is the key under which responses are stored, and a key that moves finds nothing.",
            remedy: "Give a change only where something differs from the form you want."),
        .must(
            "CANON-02", level: 2, needs: .any,
            "The canonical form keeps method, body, fields and properties.",
            because: "A stored answer to GET must not serve POST.",
            remedy: "Change the URL and nothing else."),
        .must(
            "CANON-03", level: 2, needs: .any,
            "The canonical request is still one for this handler.",
            because: "Otherwise the cache asks a handler that never loaded it.",
            remedy: "Keep the scheme, and whatever can_init looks at."),
        .must(
            "CANON-04", level: 2, needs: .any,
            "Cache equivalence is reflexive and symmetric.",
            because: "The host asks in whichever order is at hand.",
            remedy: "Compare the two canonical URLs, part by part."),
        .must(
            "CANON-05", level: 2, needs: .any,
            "Requests of different paths are not equivalent.",
            because: "Somebody would be given another resource's bytes.",
            remedy: "Compare the whole path, and the query where it counts."),
        .must(
            "CANON-06", level: 3, isEnforced: true, needs: .any,
            "The canonical form is given at most once, before the function returns, on its thread.",
            because: "The host's structure is gone after that.",
            remedy: "Call give once, last."),
    ]
}
