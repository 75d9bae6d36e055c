// SPDX-License-Identifier: Apache-2.0

import HTTPTypes
import Portolan
import PortolanJSON
import PortolanTrace

/// Prints the events of a load on standard output as JSON (`--events`), one event per line.
final class EventLines: LoadObserver {
    private let includesBody: Bool

    /// - Parameter includesBody: whether the events contain the bytes of the body. They do if no other output gets the
    ///   body.
    init(includesBody: Bool) {
        self.includesBody = includesBody
    }

    func observe(_ event: LoadEvent, at time: Duration) throws(Failure) {
        try StandardOutput.write(Self.line(for: event.withoutPasswords, at: time))
    }

    func observe(body bytes: borrowing RawSpan, of progress: LoadProgress, at time: Duration) throws(Failure) {
        var members: JSONValue = ["bytes": .integer(bytes.byteCount)]
        if includesBody {
            members = EventJSON.data(unsafe bytes.withUnsafeBytes { unsafe Array($0) }, count: bytes.byteCount)
        }
        try StandardOutput.write(EventJSON.line("data", time, members))
    }

    static func line(for event: LoadEvent, at time: Duration) -> JSONValue {
        EventJSON.line(name(of: event), time, members(of: event))
    }

    private static func name(of event: LoadEvent) -> String {
        switch event {
        case .started: "started"
        case .redirected: "redirect"
        case .challenged: "challenge"
        case .nestedLoadBegan: "inner"
        case .nestedLoadEnded: "innerEnd"
        case .interim: "interim"
        case .response: "response"
        case .cache: "cache"
        case .trailers: "trailers"
        case .sent: "sent"
        case .step: "step"
        case .metrics: "metrics"
        case .finished: "finished"
        case .retrying: "retry"
        case .failed: "failed"
        }
    }

    private static func members(of event: LoadEvent) -> JSONValue {
        switch event {
        case .started(let request, let handler): EventJSON.started(request, handler: handler)
        case .redirected(let request, let response): EventJSON.redirect(to: request.url, response)
        case .challenged(let space, let failures, _, let decision, _): challenge(space, failures, decision)
        case .nestedLoadBegan(let inner, let handler):
            [
                "url": .string(inner.url.description), "method": .string(inner.method.rawValue),
                "handler": .text(handler), "depth": .integer(inner.depth),
            ]
        case .nestedLoadEnded(let inner, let bytes, let error):
            [
                "url": .string(inner.url.description), "depth": .integer(inner.depth), "bytes": .integer(bytes),
                "code": .text(error?.name),
            ]
        case .interim(let response): EventJSON.interim(response)
        case .response(let response): EventJSON.response(response)
        case .cache(let report): report.json
        case .trailers(let fields): ["headers": FieldList(fields).json]
        case .sent(let progress): ["bytes": .integer(progress.bytesSent), "expected": .count(progress.expectedBytesToSend)]
        case .step(let step): ["step": .string(step.name)]
        case .metrics(let metrics, let start): ["requests": .array(metrics.timings.map { request($0, since: start) })]
        case .retrying(let failure, let wait, let attemptsLeft):
            [
                "code": .text(failure.code), "message": .text(failure.message.map(PlainText.line)), "wait": .milliseconds(wait),
                "rest": .integer(attemptsLeft),
            ]
        case .finished(let totals): EventJSON.finished(bytes: totals.bytes, redirects: totals.redirects)
        case .failed(let failure):
            [
                "code": .text(failure.code), "message": .text(failure.message.map(PlainText.line)),
                "exit": .integer(failure.status.code),
            ]
        }
    }

    private static func request(_ timings: RequestTimings, since start: Duration) -> JSONValue {
        func time(_ duration: Duration?) -> JSONValue { duration.map { .milliseconds($0) } ?? .null }
        let report = timings.transfer
        return [
            "start": time(start + timings.start), "waiting": time(timings.waiting), "nameLookUp": time(timings.domainLookup),
            "connecting": time(timings.connecting), "securing": time(timings.tlsHandshake), "sending": time(timings.sending),
            "answering": time(timings.awaitingResponse), "receiving": time(timings.receiving), "total": time(timings.total),
            "protocol": .text(report?.networkProtocol), "tlsVersion": .text(report?.tlsVersion),
            "tlsResumed": report?.tlsVersion == nil ? .null : .bool(report?.isTLSResumed == true),
            "reused": report.map { .bool($0.isReused) } ?? .null, "remoteAddress": .text(report?.remoteAddress),
            "proxy": .text(report?.proxy), "proxyTlsVersion": .text(report?.proxyTLSVersion),
            "proxyTlsResumed": report?.proxyTLSVersion == nil ? .null : .bool(report?.isProxyTLSResumed == true),
            "bytesSent": .count(report?.bytesSent), "bytesReceived": .count(report?.bytesReceived),
        ]
    }

    private static func challenge(_ space: ProtectionSpace, _ failures: Int, _ decision: ChallengeResponder.Decision) -> JSONValue {
        let answer =
            switch decision {
            case .answered: "credential"
            case .notHandled, .proposed, .excluded: "default"
            case .refused: "cancel"
            }
        return [
            "kind": .string(space.kindName), "protocol": .string(space.protocolName), "host": .string(space.host),
            "port": .count(space.port),
            "realm": .text(space.realm), "failures": .integer(failures), "answer": .string(answer),
        ]
    }
}

extension ProtectionSpace {
    var kindName: String {
        switch kind {
        case .password: "password"
        case .clientCertificate: "clientCertificate"
        case .serverTrust: "serverTrust"
        }
    }
}
