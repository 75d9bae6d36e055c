// SPDX-License-Identifier: Apache-2.0

import HTTPTypes
import Portolan
import PortolanCore
import PortolanJSON
import PortolanTrace

extension TracedLoad {
    /// What a recording holds of it: an exchange for each request, those that were redirected among them.
    var exchanges: [Exchange] {
        var exchanges: [Exchange] = []
        /// When each of them begins.
        var starts: [Duration] = []
        /// The first exchange of this try.
        var first = 0
        for happening in events {
            let time = happening.time - (starts.last ?? .zero)
            switch (happening.occurrence, exchanges.indices.last) {
            case (.event(.started(let request, _)), _):
                first = exchanges.count
                starts.append(happening.time)
                exchanges.append(exchange(request, at: happening.time))
            case (.event(.redirected(let request, let response)), let last?):
                exchanges[last].note(.redirect(to: request.url, response), at: time)
                starts.append(happening.time)
                exchanges.append(exchange(request, at: happening.time))
            case (.event(.metrics(let metrics, let tryStart)), _):
                note(metrics.timings, of: &exchanges, &starts, from: first, since: tryStart)
            case (_, let last?):
                if let event = Exchange.Event(happening.occurrence) { exchanges[last].note(event, at: time) }
            case (_, nil): break
            }
        }
        if lostEvents > 0, let last = exchanges.indices.last {
            exchanges[last].note(.brokenOff("\(lostEvents) events are missing in it"), at: exchanges[last].end)
        }
        return exchanges
    }

    /// Gives the exchanges of a try their timings, from the last to the first, and adds those whose answer led to the same request once more. The one that
    /// such an answer belongs to begins at its end.
    private func note(
        _ timings: [RequestTimings], of exchanges: inout [Exchange], _ starts: inout [Duration], from first: Int, since start: Duration
    ) {
        guard first < exchanges.count else { return }
        // Behind the exchange that a request was sent again for.
        var index = exchanges.count
        for timings in timings.reversed() {
            guard let refusal = timings.refusal else {
                guard index > first else { return }
                index -= 1
                exchanges[index].timings = timings
                continue
            }
            // Behind the first refusal of an exchange, that was found before: it begins at the end of this one.
            index = min(index, exchanges.count - 1)
            var refused = exchanges[index]
            let (begin, end) = (start + timings.start, start + (timings.end ?? timings.start))
            refused.began = began + begin / .seconds(1)
            exchanges[index].begin(later: end - starts[index])
            starts[index] = max(starts[index], end)
            refused.moments = []
            refused.note(
                .response(Response(url: refused.url, status: refusal.status, fields: refusal.headerFields)), at: end - start - timings.start
            )
            refused.note(.finished, at: refused.end)
            (refused.timings, refused.wasRepeated) = (timings, true)
            exchanges.insert(refused, at: index)
            starts.insert(begin, at: index)
        }
    }

    private func exchange(_ request: Request, at time: Duration) -> Exchange {
        var exchange = Exchange(request, began: began + time / .seconds(1))
        if request.body != nil { exchange.note(sent: BodyCollector.contents(of: request.body)) }
        return exchange
    }

    /// The load in the words of `get --json`.
    var json: JSONValue {
        let lines = events.map { happening in
            switch happening.occurrence {
            case .event(let event): EventLines.line(for: event, at: happening.time)
            case .data(let kept, let count): EventWords.line("data", happening.time, EventWords.data(kept, count: count))
            }
        }
        return EventTrace.load(began: began, events: lines, lostEvents: lostEvents)
    }
}

extension Exchange.Event {
    /// `nil` for what only tells how the bytes came.
    fileprivate init?(_ occurrence: TracedLoad.Occurrence) {
        switch occurrence {
        case .data(let kept, let count): self = .data(kept, count: count)
        case .event(.interim(let response)): self = .interim(response)
        case .event(.response(let response)): self = .response(response)
        case .event(.trailers(let fields)): self = .trailers(fields)
        case .event(.finished): self = .finished
        case .event(.failed(let failure)), .event(.retrying(let failure, _, _)): self = .failure(failure)
        case .event: return nil
        }
    }

    /// Where it has no code it was the command that ended the load.
    private static func failure(_ failure: Failure) -> Self {
        let message = PlainText.line(failure.message ?? "the load was ended")
        return failure.code.flatMap { LoadError(named: $0, message: message) }.map { .failed($0) } ?? .brokenOff(message)
    }
}
