// SPDX-License-Identifier: Apache-2.0

import HTTPTypes
import Portolan
import PortolanCookies
import PortolanHTTPSyntax
import PortolanTrace

/// Prints the events of a load on standard error. `*` marks events, and `<` marks received heads and trailers.
final class VerboseLines: LoadObserver {
    private let checksTrust: Bool

    /// - Parameter checksTrust: whether server certificates are checked.
    init(checksTrust: Bool) { self.checksTrust = checksTrust }

    func observe(_ event: LoadEvent, at time: Duration) {
        for line in Self.lines(for: event.withoutPasswords, at: time, checksTrust: checksTrust) {
            Diagnostics.write("\(PlainText.line(line))\n")
        }
    }

    /// Prints the names of the cookies that changed in a storage, and no value.
    static func report(_ changes: [CookieStorage.Change]) {
        for change in changes {
            let (verb, cookie) =
                switch change {
                case .added(let cookie): ("stored", cookie)
                case .replaced(_, let cookie): ("replaced", cookie)
                case .removed(let cookie): ("removed", cookie)
                }
            Diagnostics.write(
                "\(PlainText.line("* cookie \(verb): \(cookie.name.isEmpty ? "(no name)" : cookie.name) of \(cookie.domain)"))\n")
        }
    }

    static func lines(for event: LoadEvent, at time: Duration, checksTrust: Bool = true) -> [String] {
        let moment = "\(time.milliseconds) ms"
        return switch event {
        case .started(let request, let handler):
            ["* \(request.method.rawValue) \(request.url.shortDescription)", "* handler: \(handler ?? "none")"]
        case .redirected(let request, let response):
            ["* \(redirectText(response)) to \(request.url.shortDescription) after \(moment)"]
        case .challenged(let space, let failures, let isTrusted, let decision, let source):
            ["* \(challengeText(space, failures, checksTrust ? isTrusted : nil, decision, from: source))"]
        case .nestedLoadBegan(let inner, let handler):
            ["* nested load, depth \(inner.depth): \(inner.method.rawValue) \(inner.url.shortDescription), handler: \(handler ?? "none")"]
        case .nestedLoadEnded(let inner, let bytes, let error):
            [
                "* nested load, depth \(inner.depth): \(inner.url.shortDescription) \(error.map { "ended (\($0.name))" } ?? "finished")"
                    + " after \(moment), \(String(bytes, of: "byte"))"
            ]
        case .interim(let response): HeadText(response).lines.map { "< \(hidingCookieValue(of: $0))" }
        case .response(let response):
            HeadText(response).lines.map { "< \(hidingCookieValue(of: $0))" }
                + [UnsupportedSchemes.line(for: response), "response after \(moment)"].compactMap {
                    $0.map { "* \($0)" }
                }
        case .cache(let report): ["* cache: \(report.text)"]
        case .trailers(let fields): FieldList(fields).pairs.map { "< \($0.name): \($0.value)" }
        case .sent(let progress):
            ["* sent \(String(progress.bytesSent, of: "byte"))\(progress.expectedBytesToSend.map { " of \($0)" } ?? "")"]
        case .step(let step): ["* \(step.name) after \(moment)"]
        case .metrics(let metrics, _): (TimingTable(metrics, checksTrust: checksTrust).lines + resends(in: metrics)).map { "* \($0)" }
        case .retrying: []  // reported as a warning
        case .finished(let totals):
            ["* \(String(totals.bytes, of: "byte")), \(String(totals.redirects, of: "redirect")), finished after \(moment)"]
        case .failed: ["* failed after \(moment)"]
        }
    }

    /// One line for each request that was sent again, with the challenge of the server. The delegate did not receive
    /// this challenge, because the load already had a credential for it.
    private static func resends(in metrics: LoadMetrics) -> [String] {
        metrics.timings.enumerated().compactMap { index, timings in
            guard let response = timings.resentAfterResponse else { return nil }
            let (number, code) = (index + 1, response.status.code)
            let field: HTTPField.Name = code == 407 ? .proxyAuthenticate : .wwwAuthenticate
            let schemes = HTTPChallenge.schemes(field, of: response.headerFields).map { "'\($0)'" }.joined(separator: ", ")
            guard !schemes.isEmpty else { return "request \(number) got the status \(code); request \(number + 1) repeats it" }
            return "request \(number) got the status \(code), the challenge of the \(code == 407 ? "proxy" : "server") is \(schemes); "
                + "request \(number + 1) responds to it"
        }
    }

    /// Replaces the value of the cookie in a `Set-Cookie` line, which can be as secret as a password.
    static func hidingCookieValue(of line: String) -> String {
        guard line.lowercased().hasPrefix("set-cookie:") else { return line }
        let pair = line.prefix { $0 != ";" }
        let name = pair.contains("=") ? pair.prefix { $0 != "=" } + "=" : line.prefix(11) + " "
        return name + "…" + line.dropFirst(pair.count)
    }

    private static func redirectText(_ response: Response) -> String {
        let reasons = [response.status.map { "\($0.code)" }, response.isHSTSUpgrade ? "HSTS" : nil].compactMap { $0 }
        return "redirected\(reasons.isEmpty ? "" : " (\(reasons.joined(separator: ", ")))")"
    }

    /// Describes a challenge and its answer.
    ///
    /// - Parameters:
    ///   - isTrusted: `nil` if trust was not checked.
    ///   - source: where the credentials of the answer come from.
    static func challengeText(
        _ space: ProtectionSpace, _ failures: Int, _ isTrusted: Bool?, _ decision: ChallengeResponder.Decision, from source: String?
    ) -> String {
        challengeText(space, failures, isTrusted) + suffix(for: decision, in: space) + (source.map { " (from \($0))" } ?? "")
    }

    private static func challengeText(_ space: ProtectionSpace, _ failures: Int, _ isTrusted: Bool?) -> String {
        let port = space.port.map { ":\($0)" } ?? ""
        let place = "'\(space.host)\(port)'\(space.realm.map { ", realm '\($0)'" } ?? "")"
        return switch space.kind {
        case .password(let scheme):
            "\(title(of: scheme)) challenge of \(space.isProxy ? "proxy " : "")\(place), \(String(failures, of: "failure")) before it"
        case .clientCertificate: "client certificate challenge of \(place)"
        case .serverTrust:
            "server certificate of \(place): \(isTrusted.map { $0 ? "trusted" : "not trusted" } ?? "not checked because of -k")"
        }
    }

    /// The name of an authentication scheme as RFCs write it.
    private static func title(of scheme: String) -> String {
        scheme.isEmpty ? "password" : scheme.prefix(1).uppercased() + scheme.dropFirst()
    }

    private static func suffix(for decision: ChallengeResponder.Decision, in space: ProtectionSpace) -> String {
        switch (decision, space.kind) {
        case (.answered, .password(scheme: "digest")): ": sending the user name and a hash of the password"
        case (.answered, _): ": sending user name and password"
        case (.notHandled, .password): ": no user name and password for it"
        case (.proposed, .password): ": sending the proposed user name and password"
        case (.excluded(let reason), _): ": no user name and password sent: \(reason)"
        case (.notHandled, _), (.proposed, _): ""
        case (.refused, _): ": refused"
        }
    }
}
