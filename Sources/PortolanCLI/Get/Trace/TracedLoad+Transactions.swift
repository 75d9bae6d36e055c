// SPDX-License-Identifier: Apache-2.0

import HTTPTypes
import Portolan
import PortolanCore
import PortolanJSON
import PortolanTrace

extension TracedLoad {
    /// The transactions for a recording: one for each request, including redirected ones.
    var transactions: [Transaction] {
        var transactions: [Transaction] = []
        /// The start of each transaction.
        var starts: [Duration] = []
        /// The index of the first transaction of this attempt.
        var first = 0
        for event in events {
            let time = event.time - (starts.last ?? .zero)
            switch (event.kind, transactions.indices.last) {
            case (.event(.started(let request, _)), _):
                first = transactions.count
                starts.append(event.time)
                transactions.append(transaction(request, at: event.time))
            case (.event(.redirected(let request, let response)), let last?):
                transactions[last].append(.redirect(to: request.url, response), at: time)
                starts.append(event.time)
                transactions.append(transaction(request, at: event.time))
            case (.event(.metrics(let metrics, let attemptStart)), _):
                assign(metrics.timings, of: &transactions, &starts, from: first, since: attemptStart)
            case (_, let last?):
                if let event = Transaction.Event(event.kind) { transactions[last].append(event, at: time) }
            case (_, nil): break
            }
        }
        if lostEvents > 0, let last = transactions.indices.last {
            transactions[last].append(.interrupted("\(lostEvents) events are missing in it"), at: transactions[last].end)
        }
        return transactions
    }

    /// Assigns timings to the transactions of an attempt, from the last to the first. For each response after which the
    /// same request was sent again, adds a transaction. The transaction of the repeated request starts at the end of
    /// that response.
    private func assign(
        _ timings: [RequestTimings], of transactions: inout [Transaction], _ starts: inout [Duration], from first: Int,
        since start: Duration
    ) {
        guard first < transactions.count else { return }
        // The index of the transaction that was handled last; it starts behind the last transaction.
        var index = transactions.count
        for timings in timings.reversed() {
            guard let refusal = timings.resentAfterResponse else {
                guard index > first else { return }
                index -= 1
                transactions[index].timings = timings
                continue
            }
            // If the previous iteration handled a refusal, too, `transactions[index]` is the transaction of that
            // refusal, and starts at the end of this one.
            index = min(index, transactions.count - 1)
            var refused = transactions[index]
            let (begin, end) = (start + timings.start, start + (timings.end ?? timings.start))
            refused.began = began + begin / .seconds(1)
            transactions[index].moveStart(by: end - starts[index])
            starts[index] = max(starts[index], end)
            refused.moments = []
            refused.append(
                .response(Response(url: refused.url, status: refusal.status, fields: refusal.headerFields)), at: end - start - timings.start
            )
            refused.append(.finished, at: refused.end)
            (refused.timings, refused.wasRepeated) = (timings, true)
            transactions.insert(refused, at: index)
            starts.insert(begin, at: index)
        }
    }

    private func transaction(_ request: Request, at time: Duration) -> Transaction {
        var transaction = Transaction(request, began: began + time / .seconds(1))
        if keepsBodies, request.body != nil { transaction.setBody(BodyCollector.contents(of: request.body)) }
        return transaction
    }

    /// The load in the format of `get --json`.
    var json: JSONValue {
        let lines = events.map { event in
            switch event.kind {
            case .event(let loadEvent): EventLines.line(for: loadEvent, at: event.time)
            case .data(let kept, let count): EventJSON.line("data", event.time, EventJSON.data(kept, count: count))
            }
        }
        return EventTrace.load(began: began, events: lines, lostEvents: lostEvents)
    }
}

extension Transaction.Event {
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
        return failure.code.flatMap { LoadError(named: $0, message: message) }.map { .failed($0) } ?? .interrupted(message)
    }
}
