// SPDX-License-Identifier: Apache-2.0

extension RuleCatalogue {
    static let redirects: [ConformanceRule] = [
        .must(
            "REDIR-01", level: 2, isEnforced: true, needs: .redirects,
            "A redirect says where to: its URL is absolute and parses, or its response has a Location.",
            because: "The host loads what is there.",
            remedy: "Resolve it against the request's URL first, or give the response's Location and no URL."),
        .must(
            "REDIR-02", level: 2, needs: .redirects,
            "The redirect's response is given where the protocol has one.",
            because: "Callers look at status and fields.",
            remedy: "Pass it to was_redirected."),
        .must(
            "REDIR-03", level: 3, needs: .redirects,
            "The new request keeps method, fields and properties, but for what the protocol says.",
            because: "A POST that becomes a GET loses the body.",
            remedy: "Name in the change only what differs."),
        .must(
            "REDIR-04", level: 3, needs: .redirects,
            "No credential of the first URL stands in one that leads to another origin.",
            because: "It would be sent to a stranger.",
            remedy: "Leave user information out of the new URL."),
        .must(
            "REDIR-05", level: 3, needs: .redirects,
            "A loop of redirects ends at the host's limit, with nothing leaked.",
            because: "Servers are configured in circles.",
            remedy: "Nothing beyond freeing each load."),
        .must(
            "REDIR-06", level: 3, needs: .redirects,
            "A decision that comes later works both ways.",
            because: "The caller may ask a person.",
            remedy: "After resume deliver the response; after stop or destroy, nothing."),
    ]
}
