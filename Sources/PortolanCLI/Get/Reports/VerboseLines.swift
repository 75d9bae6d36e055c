// SPDX-License-Identifier: Apache-2.0

import HTTPTypes
import Portolan
import PortolanTrace

/// Reports a load on standard error, for people: `*` marks events, `<` marks received heads and trailers.
final class VerboseLines: LoadObserver {
    private let checksTrust: Bool

    /// - Parameter checksTrust: whether server certificates are checked.
    init(checksTrust: Bool) { self.checksTrust = checksTrust }

    func observe(_ event: LoadEvent, at time: Duration) {
        for line in Self.lines(for: event.withoutPasswords, at: time, checksTrust: checksTrust) {
            Diagnostics.write("\(PlainText.line(line))\n")
        }
    }

    static func lines(for event: LoadEvent, at time: Duration, checksTrust: Bool = true) -> [String] {
        let moment = "\(time.milliseconds) ms"
        return switch event {
        case .started(let request, let handler):
            ["* \(request.method.rawValue) \(request.url.shortDescription)", "* handler: \(handler ?? "none")"]
        case .redirected(let request, let response):
            ["* redirected\(response.status.map { " (\($0.code))" } ?? "") to \(request.url.shortDescription) after \(moment)"]
        case .challenged(let space, let failures, let isTrusted, let verdict):
            ["* \(challengeText(space, failures, checksTrust ? isTrusted : nil)): \(phrase(for: verdict))"]
        case .innerBegan(let inner, let handler):
            ["* nested load, depth \(inner.depth): \(inner.method.rawValue) \(inner.url.shortDescription), handler: \(handler ?? "none")"]
        case .innerEnded(let inner, let bytes, let error):
            [
                "* nested load, depth \(inner.depth): \(inner.url.shortDescription) \(error.map { "ended (\($0.name))" } ?? "finished")"
                    + " after \(moment), \(bytes) bytes"
            ]
        case .interim(let response): HeadText(response).lines.map { "< \($0)" }
        case .response(let response): HeadText(response).lines.map { "< \($0)" } + ["* response after \(moment)"]
        case .trailers(let fields): FieldList(fields).pairs.map { "< \($0.name): \($0.value)" }
        case .sent(let progress): ["* sent \(progress.bytesSent) bytes\(progress.expectedBytesToSend.map { " of \($0)" } ?? "")"]
        case .step(let step): ["* \(step.name) after \(moment)"]
        case .metrics(let metrics, _): TimingTable(metrics, checksTrust: checksTrust).lines.map { "* \($0)" }
        case .retrying: []  // reported as a warning
        case .finished(let totals): ["* \(totals.bytes) bytes, \(totals.redirects) redirects, finished after \(moment)"]
        case .failed: ["* failed after \(moment)"]
        }
    }

    /// - Parameter isTrusted: `nil` if trust was not checked.
    private static func challengeText(_ space: ProtectionSpace, _ failures: Int, _ isTrusted: Bool?) -> String {
        let place = "'\(space.host)'\(space.realm.map { ", realm '\($0)'" } ?? "")"
        return switch space.kind {
        case .password: "password challenge by \(place), \(failures) failures so far"
        case .clientCertificate: "clientCertificate challenge by \(place)"
        case .serverTrust: "serverTrust of \(place): \(isTrusted.map { $0 ? "trusted" : "not trusted" } ?? "not checked because of -k")"
        }
    }

    private static func phrase(for verdict: PasswordAnswer.Verdict) -> String {
        switch verdict {
        case .answered: "answered with -u"
        case .leftAlone: "default handling"
        case .refused: "cancelled"
        }
    }
}
