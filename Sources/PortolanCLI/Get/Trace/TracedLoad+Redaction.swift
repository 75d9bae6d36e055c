// SPDX-License-Identifier: Apache-2.0

import Portolan
import PortolanCore
import PortolanTrace

extension TracedLoad {
    /// Returns the load without the secrets that a recording must not contain.
    func redacted(by redaction: Redaction) -> TracedLoad {
        var load = self
        redaction.maskBodies(
            in: &load.events, head: { if case .event(.response(let response)) = $0.kind { response } else { nil } },
            bytes: { if case .data(let bytes, _) = $0.kind { bytes } else { nil } },
            replace: { event, bytes in
                guard case .data(_, let count) = event.kind else { return }
                event = TraceEvent(time: event.time, kind: .data(kept: bytes, count: count))
            })
        load.events = load.events.map { event in
            guard case .event(let loadEvent) = event.kind else { return event }
            return TraceEvent(time: event.time, kind: .event(loadEvent.redacted(by: redaction)))
        }
        return load
    }
}

extension LoadEvent {
    /// The event without the user names and passwords of URLs, also in fields and messages.
    var withoutPasswords: LoadEvent { redacted(by: Redaction(keepsSecrets: true)) }

    fileprivate func redacted(by redaction: Redaction) -> LoadEvent {
        switch self {
        case .started(let request, let handler): .started(redaction.request(request), handler: handler)
        case .redirected(let request, let response): .redirected(to: redaction.request(request), redaction.response(response))
        case .challenged(var space, let failures, let isTrusted, let decision, let source):
            {
                space.realm = space.realm.map(redaction.text)
                return .challenged(space, failures: failures, isTrusted: isTrusted, decision, source: source)
            }()
        case .nestedLoadBegan(let inner, let handler): .nestedLoadBegan(inner.redacted(by: redaction), handler: handler)
        case .nestedLoadEnded(let inner, let bytes, let error):
            .nestedLoadEnded(inner.redacted(by: redaction), bytes: bytes, error.map(redaction.error))
        case .interim(let response): .interim(redaction.response(response))
        case .response(let response): .response(redaction.response(response))
        case .trailers(let fields): .trailers(redaction.fields(fields))
        case .retrying(let failure, let wait, let attemptsLeft):
            .retrying(failure.redacted(by: redaction), after: wait, attemptsLeft: attemptsLeft)
        case .failed(let failure): .failed(failure.redacted(by: redaction))
        case .cache, .sent, .step, .metrics, .finished: self
        }
    }
}

extension NestedLoadReport {
    fileprivate func redacted(by redaction: Redaction) -> Self {
        var report = self
        report.url = redaction.url(url)
        return report
    }
}

extension Failure {
    fileprivate func redacted(by redaction: Redaction) -> Failure { Failure(status, message.map(redaction.text), code: code) }
}
