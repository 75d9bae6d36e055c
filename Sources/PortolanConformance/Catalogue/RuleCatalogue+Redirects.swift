// SPDX-License-Identifier: Apache-2.0

extension RuleCatalogue {
    static let redirects: [ConformanceRule] = [
        .must(
            "REDIR-01", level: 2, isEnforced: true, needs: .redirects,
            "A redirect has a target: an absolute, valid URL, or a response with a Location field.",
            because: "The host loads the target.",
            remedy: "Resolve the URL against the request's URL first, or pass a response with a Location field and no URL."),
        .must(
            "REDIR-02", level: 2, needs: .redirects,
            "If the protocol has a response for a redirect, the load passes it to the client.",
            because: "Callers read the status and the fields of that response.",
            remedy: "Pass the response to was_redirected."),
        .must(
            "REDIR-03", level: 3, needs: .redirects,
            "The new request keeps method, fields and properties, except for what the protocol changes.",
            because: "A POST that becomes a GET loses its body.",
            remedy: "Set only the members of portolan_change that differ."),
        .must(
            "REDIR-04", level: 3, needs: .redirects,
            "If a redirect leads to another origin, its URL contains no credential of the first URL.",
            because: "Otherwise another server receives the credential.",
            remedy: "Leave user information out of the new URL."),
        .must(
            "REDIR-05", level: 3, needs: .redirects,
            "A loop of redirects ends at the host's limit, and leaks nothing.",
            because: "Some servers are configured with such loops.",
            remedy: "Free each load. Nothing else is needed."),
        .must(
            "REDIR-06", level: 3, needs: .redirects,
            "A redirect can be taken, or not taken, after a delay.",
            because: "The caller may ask the user.",
            remedy: "After resume, deliver the response. After stop or destroy, deliver nothing."),
    ]
}
