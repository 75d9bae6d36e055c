// SPDX-License-Identifier: Apache-2.0

import HTTPTypes
import Portolan
import PortolanCore
import PortolanJSON
import PortolanTrace

extension TracedLoad {
    /// The exchanges for a recording: one for each request, including redirected ones.
    var exchanges: [Exchange] {
        var exchanges: [Exchange] = []
        /// The start of each exchange.
        var starts: [Duration] = []
        /// The first exchange of this try.
        var first = 0
        for event in events {
            let time = event.time - (starts.last ?? .zero)
            switch (event.kind, exchanges.indices.last) {
            case (.event(.started(let request, _)), _):
                first = exchanges.count
                starts.append(event.time)
                exchanges.append(exchange(request, at: event.time))
            case (.event(.redirected(let request, let response)), let last?):
                exchanges[last].note(.redirect(to: request.url, response), at: time)
                starts.append(event.time)
                exchanges.append(exchange(request, at: event.time))
            case (.event(.metrics(let metrics, let tryStart)), _):
                note(metrics.timings, of: &exchanges, &starts, from: first, since: tryStart)
            case (_, let last?):
                if let event = Exchange.Event(event.kind) { exchanges[last].note(event, at: time) }
            case (_, nil): break
            }
        }
        if lostEvents > 0, let last = exchanges.indices.last {
            exchanges[last].note(.brokenOff("\(lostEvents) events are missing in it"), at: exchanges[last].end)
        }
        return exchanges
    }

    /// Assigns timings to the exchanges of a try, from the last to the first. For each response after which the same
    /// request was sent again, adds an exchange. The exchange of the repeated request starts at the end of that
    /// response.
    private func note(
        _ timings: [RequestTimings], of exchanges: inout [Exchange], _ starts: inout [Duration], from first: Int, since start: Duration
    ) {
        guard first < exchanges.count else { return }
        // The index of the exchange that was handled last; it starts behind the last exchange.
        var index = exchanges.count
        for timings in timings.reversed() {
            guard let refusal = timings.resentAfterResponse else {
                guard index > first else { return }
                index -= 1
                exchanges[index].timings = timings
                continue
            }
            // After consecutive refusals, `exchanges[index]` is the refusal handled before; it starts at the end of
            // this one.
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

    /// The load in the format of `get --json`.
    var json: JSONValue {
        let lines = events.map { event in
            switch event.kind {
            case .event(let loadEvent): EventLines.line(for: loadEvent, at: event.time)
            case .data(let kept, let count): EventWords.line("data", event.time, EventWords.data(kept, count: count))
            }
        }
        return EventTrace.load(began: began, events: lines, lostEvents: lostEvents)
    }
}

extension Exchange.Event {
    /// `nil` for an event that describes only the transport.
    fileprivate init?(_ kind: TracedLoad.TraceEventKind) {
        switch kind {
        case .data(let kept, let count): self = .data(kept, count: count)
        case .event(.interim(let response)): self = .interim(response)
        case .event(.response(let response)): self = .response(response)
        case .event(.trailers(let fields)): self = .trailers(fields)
        case .event(.finished): self = .finished
        case .event(.failed(let failure)), .event(.retrying(let failure, _, _)): self = .failure(failure)
        case .event: return nil
        }
    }

    /// A failure without a code means that the command ended the load.
    private static func failure(_ failure: Failure) -> Self {
        let message = PlainText.line(failure.message ?? "the command ended the load")
        return failure.code.flatMap { LoadError(named: $0, message: message) }.map { .failed($0) } ?? .brokenOff(message)
    }
}
