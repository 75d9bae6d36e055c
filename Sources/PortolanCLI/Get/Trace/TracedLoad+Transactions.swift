// SPDX-License-Identifier: Apache-2.0

import HTTPTypes
import Portolan
import PortolanCache
import PortolanCore
import PortolanJSON
import PortolanTrace

/// One request of a traced load.
struct TracedRequest {
    /// A challenge, which a ``Transaction`` does not contain.
    struct Challenge {
        /// The time since the start of the request.
        var time: Duration
        let space: ProtectionSpace
        let text: String
        let isAnswered: Bool
    }

    var transaction: Transaction
    /// The time since the start of the load.
    var start: Duration
    /// The challenges for a user name and password, or for a client certificate.
    var challenges: [Challenge] = []
}

extension TracedLoad {
    /// The transactions of ``requests``, for a recording.
    var transactions: [Transaction] { requests.map(\.transaction) }

    /// The requests, including redirected ones and those that were sent again.
    var requests: [TracedRequest] {
        var requests: [TracedRequest] = []
        /// The index of the first request after the last `started` event. A retry of the load sends another `started`.
        var first = 0
        for event in events {
            let time = event.time - (requests.last?.start ?? .zero)
            switch (event.kind, requests.indices.last) {
            case (.event(.started(let request, _)), _):
                first = requests.count
                requests.append(TracedRequest(transaction: transaction(request, at: event.time), start: event.time))
            case (.event(.redirected(let request, let response)), let last?):
                requests[last].transaction.append(.redirect(to: request.url, response), at: time)
                requests[last].transaction.cache = ArchivedCache(response, at: began + event.time / .seconds(1))
                requests.append(TracedRequest(transaction: transaction(request, at: event.time), start: event.time))
            case (.event(.metrics(let metrics, let attemptStart)), _):
                assign(metrics.timings, to: &requests, from: first, since: attemptStart)
            case (.event(.challenged(let space, let failures, let isTrusted, let decision, let source)), let last?):
                if case .serverTrust = space.kind { continue }
                let text = VerboseLines.challengeText(space, failures, isTrusted, decision, from: source)
                requests[last].challenges.append(
                    TracedRequest.Challenge(time: time, space: space, text: text, isAnswered: [.answered, .proposed].contains(decision)))
            case (_, let last?):
                if case .event(.response(let response)) = event.kind {
                    requests[last].transaction.cache = ArchivedCache(response, at: began + event.time / .seconds(1))
                }
                if let event = Transaction.Event(event.kind) { requests[last].transaction.append(event, at: time) }
            case (_, nil): break
            }
        }
        if lostEvents > 0, let last = requests.indices.last {
            requests[last].transaction.append(
                .interrupted("the recording lacks \(lostEvents) events"), at: requests[last].transaction.end)
        }
        return requests
    }

    /// Assigns timings to the requests of an attempt, from the last to the first. If a request was sent again (for
    /// example after a 401, 407 or 417), inserts the refused transmission as a request of its own, and moves the start
    /// of the repeated request to the end of that response.
    private func assign(_ timings: [RequestTimings], to requests: inout [TracedRequest], from first: Int, since start: Duration) {
        guard first < requests.count else { return }
        // The index of the request that was handled last; it starts behind the last request.
        var index = requests.count
        for timings in timings.reversed() {
            guard let refusal = timings.resentAfterResponse else {
                guard index > first else { return }
                index -= 1
                requests[index].transaction.timings = timings
                continue
            }
            // The loop runs backwards. `requests[index]` is the next transmission, possibly also a refused one. It
            // starts when this refusal ends.
            index = min(index, requests.count - 1)
            var refused = requests[index].transaction
            let (begin, end) = (start + timings.start, start + (timings.end ?? timings.start))
            refused.began = began + begin / .seconds(1)
            requests[index].moveStart(by: end - requests[index].start)
            refused.moments = []
            refused.append(
                .response(Response(url: refused.url, status: refusal.status, fields: refusal.headerFields)), at: end - start - timings.start
            )
            refused.append(.finished, at: refused.end)
            (refused.timings, refused.wasRepeated) = (timings, true)
            let challenge = requests[index].removeLastAnsweredChallenge(for: refusal.status.code, at: refused.end)
            requests.insert(TracedRequest(transaction: refused, start: begin, challenges: challenge.map { [$0] } ?? []), at: index)
        }
    }

    private func transaction(_ request: Request, at time: Duration) -> Transaction {
        var transaction = Transaction(request, began: began + time / .seconds(1))
        if keepsBodies, request.body != nil { transaction.setBody(BodyCollector.contents(of: request.body)) }
        return transaction
    }

    /// The load in the format of `get --events`.
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

extension TracedRequest {
    fileprivate mutating func moveStart(by delay: Duration) {
        transaction.moveStart(by: delay)
        guard delay > .zero else { return }
        start += delay
        for index in challenges.indices { challenges[index].time = max(.zero, challenges[index].time - delay) }
    }

    /// Removes and returns the last answered challenge of the server (status 401) or of the proxy (status 407). `nil`
    /// if there is none, and for another status.
    ///
    /// - Parameter time: the time of the response, since the start of its request. It becomes the challenge's time.
    fileprivate mutating func removeLastAnsweredChallenge(for status: Int, at time: Duration) -> Challenge? {
        guard status == 401 || status == 407,
            let index = challenges.lastIndex(where: { $0.isAnswered && $0.space.isProxy == (status == 407) })
        else { return nil }
        var challenge = challenges.remove(at: index)
        challenge.time = time
        return challenge
    }
}

extension Transaction.Event {
    /// `nil` for an event that a transaction does not contain, for example about the transport, the cache or a nested
    /// load.
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

extension ArchivedCache {
    /// - Parameter time: when the response arrived, in seconds since 1970.
    fileprivate init?(_ response: Response, at time: Double) {
        guard let status = response.cacheStatus, let report = CacheReport(response) else { return nil }
        self.init(comment: report.text)
        let tag = response.fields[.eTag] ?? ""
        if status.reason == .noResponse { before = .absent }
        switch status.source {
        case .hit:
            guard let use = status.previousUse else { return }
            let expiry = status.timeToLive.map { time + Double($0) }
            before = .entry(Entry(expiry: expiry, lastUse: use.time, entityTag: tag, useCount: use.count))
            after = .entry(Entry(expiry: expiry, lastUse: time, entityTag: tag, useCount: use.count + 1))
        // Whether the response is stored is known only at its end.
        case .forward(let forward) where forward.isStored: break
        case .forward, nil:
            if status.reason == .noResponse { after = .absent }
        }
    }
}
