// SPDX-License-Identifier: Apache-2.0

import ArgumentParser
import Portolan

/// Options for redirects.
struct RedirectOptions: ParsableArguments {
    @Option(
        name: [.customLong("max-redirects"), .customLong("max-redirs")], parsing: .unconditional,
        help: ArgumentHelp("Follow at most this many redirects; -1 means no limit. An upgrade of --hsts is none.", valueName: "n"))
    var limit = 20

    @Flag(
        name: .customLong("location-trusted"),
        help: "Follow redirects, and send the user name, the password and cookies of -H also to other hosts.")
    var trustsEveryHost = false

    @Flag(name: .customLong("no-location"), help: "Follow no redirect: write the response that redirects.")
    var followsNoRedirect = false

    /// Accepted for compatibility with curl. It has no effect, because the program follows redirects by default.
    @Flag(name: [.customShort("L"), .customLong("location")], help: .hidden)
    var follows = false

    @Flag(name: .customLong("post301"), help: "Repeat a POST request after a redirect with status 301, instead of GET.")
    var repeatsAfter301 = false
    @Flag(name: .customLong("post302"), help: "The same for status 302.")
    var repeatsAfter302 = false
    @Flag(name: .customLong("post303"), help: "The same for status 303.")
    var repeatsAfter303 = false

    @Option(
        name: .customLong("proto-redir"), parsing: .unconditional,
        help: ArgumentHelp("Follow redirects only to these schemes, as in --proto.", valueName: "schemes"))
    var schemes: String?

    func validate() throws {
        if limit < -1 { throw ValidationError("--max-redirects: write a number, 0 or more, or -1 for no limit") }
    }

    /// Applies the options that the loader knows.
    ///
    /// - Parameter leavingLimitToDelegate: whether ``GetLoad``, and not the loader, stops the load at the limit. Then
    ///   ``GetLoad`` also receives the head of the first redirect beyond the limit.
    func apply(to policy: inout RedirectPolicy, leavingLimitToDelegate: Bool) {
        policy.limit = limit < 0 || limit == .max ? .max : leavingLimitToDelegate ? limit + 1 : limit
        policy.keepsCredentials = trustsEveryHost
        if followsNoRedirect { policy.mode = .manual }
    }

    /// The statuses after which the method and the body of a POST request are repeated.
    var codesThatRepeatPost: Set<Int> {
        Set([(301, repeatsAfter301), (302, repeatsAfter302), (303, repeatsAfter303)].filter(\.1).map(\.0))
    }
}

/// The schemes of `--proto` and `--proto-redir`, in curl's syntax: `=http,https` allows only these, `-http` forbids
/// one, and `all` means every scheme.
struct SchemeFilter: Sendable {
    /// `nil` means every scheme.
    private var allowed: Set<String>? = nil
    private var forbidden: Set<String> = []

    init(parsing text: String) {
        for word in text.lowercased().split(separator: ",") {
            let name = String(word.drop { "=+-".contains($0) })
            switch word.first {
            case "=": (allowed, forbidden) = (name == "all" ? nil : [name], [])
            case "-":
                if name == "all" { allowed = [] } else { forbidden.insert(name) }
                allowed?.remove(name)
            default:
                if name == "all" { allowed = nil } else { allowed?.insert(name) }
                forbidden.remove(name)
            }
        }
    }

    func contains(_ scheme: some StringProtocol) -> Bool {
        let scheme = String(scheme)
        return !forbidden.contains(scheme) && allowed?.contains(scheme) ?? true
    }
}
