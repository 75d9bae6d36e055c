// SPDX-License-Identifier: Apache-2.0

import Portolan
import PortolanCore
import PortolanTrace

extension TracedLoad {
    /// The load without what a recording leaves out.
    func redacted(by redaction: Redaction) -> TracedLoad {
        var load = self
        redaction.maskBodies(
            in: &load.events, head: { if case .event(.response(let response)) = $0.occurrence { response } else { nil } },
            bytes: { if case .data(let bytes, _) = $0.occurrence { bytes } else { nil } },
            replace: { happening, bytes in
                guard case .data(_, let count) = happening.occurrence else { return }
                happening = Happening(time: happening.time, occurrence: .data(kept: bytes, count: count))
            })
        load.events = load.events.map { happening in
            guard case .event(let event) = happening.occurrence else { return happening }
            return Happening(time: happening.time, occurrence: .event(event.redacted(by: redaction)))
        }
        return load
    }
}

extension LoadEvent {
    /// Without user names and passwords in URLs, wherever they stand in fields and messages.
    var withoutPasswords: LoadEvent { redacted(by: Redaction(keepsSecrets: true)) }

    fileprivate func redacted(by redaction: Redaction) -> LoadEvent {
        switch self {
        case .started(let request, let handler): .started(redaction.request(request), handler: handler)
        case .redirected(let request, let response): .redirected(to: redaction.request(request), redaction.response(response))
        case .challenged(var space, let failures, let isTrusted, let verdict):
            {
                space.realm = space.realm.map(redaction.text)
                return .challenged(space, failures: failures, isTrusted: isTrusted, verdict)
            }()
        case .innerBegan(let inner, let handler): .innerBegan(inner.redacted(by: redaction), handler: handler)
        case .innerEnded(let inner, let bytes, let error):
            .innerEnded(inner.redacted(by: redaction), bytes: bytes, error.map(redaction.error))
        case .interim(let response): .interim(redaction.response(response))
        case .response(let response): .response(redaction.response(response))
        case .trailers(let fields): .trailers(redaction.fields(fields))
        case .retrying(let failure, let wait, let rest): .retrying(failure.redacted(by: redaction), after: wait, rest: rest)
        case .failed(let failure): .failed(failure.redacted(by: redaction))
        case .sent, .step, .metrics, .finished: self
        }
    }
}

extension InnerReport {
    fileprivate func redacted(by redaction: Redaction) -> Self {
        var report = self
        report.url = redaction.url(url)
        return report
    }
}

extension Failure {
    fileprivate func redacted(by redaction: Redaction) -> Failure { Failure(status, message.map(redaction.text), code: code) }
}
