// SPDX-License-Identifier: Apache-2.0

import HTTPTypes
import PortolanCore
import Synchronization

/// What was recorded of one load; outlives it.
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

    /// - Parameter exchange: the request, of which nothing has come yet.
    init(_ exchange: Exchange, clock: any LoadClock) {
        (self.clock, start) = (clock, clock.now)
        state = Mutex(State(exchange: exchange))
    }

    /// What was recorded; `nil` where the load has not ended by itself: then nobody knows what else would have come.
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

    /// What comes from here on is no news of the load's.
    func stop() { state.withLock { $0.isStopped = true } }

    /// How many more bytes of body are kept.
    var room: Int { state.withLock { max(0, Exchange.largestBody - $0.keptBytes) } }

    func note(_ event: Exchange.Event) {
        let time = clock.now - start
        state.withLock { state in
            if state.isStopped { return }
            // Of a body in very many pieces the last ones are put together.
            guard case .data(let kept, let count) = event else { return state.exchange.note(event, at: time) }
            state.keptBytes += kept.count
            if state.exchange.moments.count < Exchange.largestEventCount {
                state.exchange.note(event, at: time)
            } else {
                state.exchange.lengthen(by: kept, count)
            }
        }
    }

    func measure(_ change: (inout LoadMetrics, Duration) -> Void) {
        let time = clock.now - start
        state.withLock { change(&$0.metrics, time) }
    }
}

extension Exchange {
    fileprivate mutating func lengthen(by bytes: [UInt8], _ count: Int) {
        guard case .data(var kept, let sum)? = moments.last?.event, let time = moments.popLast()?.time else { return }
        kept += bytes
        note(.data(kept, count: sum + count), at: time)
    }
}

/// Writes down what a load reports, and passes it on.
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
