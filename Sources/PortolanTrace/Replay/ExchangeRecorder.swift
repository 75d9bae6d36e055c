// SPDX-License-Identifier: Apache-2.0

import HTTPTypes
import PortolanCore
import Synchronization

/// The record of one load, which outlives the load.
final class ExchangeRecord: Sendable {
    private struct State {
        var exchange: Exchange
        var keptBytes = 0
        var metrics = LoadMetrics()
        var isStopped = false
    }

    private let clock: any LoadClock
    private let start: Duration
    private let state: Mutex<State>

    /// - Parameter exchange: the request, without events.
    init(_ exchange: Exchange, clock: any LoadClock) {
        (self.clock, start) = (clock, clock.now)
        state = Mutex(State(exchange: exchange))
    }

    /// The recorded exchange; `nil` if the load did not end by itself, because its further events are unknown.
    var exchange: Exchange? {
        state.withLock { state in
            var exchange = state.exchange
            exchange.timings = state.metrics.timings.last
            switch exchange.moments.last?.event {
            case .redirect, .finished, .failed: return exchange
            case .interim, .response, .data, .trailers, .brokenOff, nil: return nil
            }
        }
    }

    /// Ignores all events from now on.
    func stop() { state.withLock { $0.isStopped = true } }

    /// The number of further body bytes that the record can hold.
    var room: Int { state.withLock { max(0, Exchange.largestBody - $0.keptBytes) } }

    func note(_ event: Exchange.Event) {
        let time = clock.now - start
        state.withLock { state in
            if state.isStopped { return }
            if case .data(let kept, _) = event { state.keptBytes += kept.count }
            guard state.exchange.moments.count >= Exchange.largestEventCount else { return state.exchange.note(event, at: time) }
            switch event {
            case .data(let kept, let count): state.exchange.appendToLastData(kept, count: count, at: time)
            case .redirect, .trailers, .finished, .failed, .brokenOff: state.exchange.note(event, at: time)
            case .interim, .response:
                // For example the parts of an endless multipart response.
                state.exchange.note(.brokenOff("it has more than \(Exchange.largestEventCount) events"), at: time)
                state.isStopped = true
            }
        }
    }

    func measure(_ change: (inout LoadMetrics, Duration) -> Void) {
        let time = clock.now - start
        state.withLock { change(&$0.metrics, time) }
    }
}

extension Exchange {
    /// Appends body bytes to the last event if that is a piece of body, so that the number of events has a limit.
    /// Otherwise adds an event.
    fileprivate mutating func appendToLastData(_ bytes: [UInt8], count: Int, at time: Duration) {
        guard case .data(var kept, let sum)? = moments.last?.event, let first = moments.popLast()?.time else {
            return note(.data(bytes, count: count), at: time)
        }
        kept += bytes
        note(.data(kept, count: sum + count), at: first)
    }
}

/// Records the events of a load, and forwards them.
final class ExchangeRecorder: ForwardingClient {
    let next: any ProtocolClient
    private let record: ExchangeRecord

    init(_ record: ExchangeRecord, next: any ProtocolClient) { (self.record, self.next) = (record, next) }

    func wasRedirected(to request: Request, redirectResponse: Response) -> Flow {
        record.note(.redirect(to: request.url, redirectResponse))
        return next.wasRedirected(to: request, redirectResponse: redirectResponse)
    }

    func didReceiveInterim(_ response: Response) {
        record.note(.interim(response))
        next.didReceiveInterim(response)
    }

    func didReceive(_ response: Response, storage: CacheStoragePolicy) -> Flow {
        record.note(.response(response))
        return next.didReceive(response, storage: storage)
    }

    func didLoad(_ bytes: borrowing RawSpan) -> Flow {
        let room = record.room
        let kept = unsafe bytes.withUnsafeBytes { unsafe Array($0.prefix(room)) }
        record.note(.data(kept, count: bytes.byteCount))
        return next.didLoad(bytes)
    }

    func didReceiveTrailers(_ fields: HTTPFields) {
        record.note(.trailers(fields))
        next.didReceiveTrailers(fields)
    }

    func didReach(_ step: LoadStep) {
        record.measure { $0.note(step, at: $1) }
        next.didReach(step)
    }

    func didTransfer(_ report: TransferReport) {
        record.measure { $0.note(report, at: $1) }
        next.didTransfer(report)
    }

    func didFinishLoading() {
        record.note(.finished)
        next.didFinishLoading()
    }

    func didFail(with error: LoadError) {
        record.note(.failed(error))
        next.didFail(with: error)
    }
}
