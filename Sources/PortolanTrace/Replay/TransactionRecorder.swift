// SPDX-License-Identifier: Apache-2.0

import HTTPTypes
import PortolanCore
import Synchronization

/// The record of one load, which outlives the load.
final class TransactionRecord: Sendable {
    private struct State {
        var transaction: Transaction
        var recordedByteCount = 0
        var metrics = LoadMetrics()
        var isStopped = false
    }

    private let clock: any LoadClock
    private let start: Duration
    private let state: Mutex<State>

    /// - Parameter transaction: the request, without events.
    init(_ transaction: Transaction, clock: any LoadClock) {
        (self.clock, start) = (clock, clock.now)
        state = Mutex(State(transaction: transaction))
    }

    /// The recorded transaction; `nil` while the load runs, and if the load was stopped before its end.
    var transaction: Transaction? {
        state.withLock { state in
            var transaction = state.transaction
            transaction.timings = state.metrics.timings.last
            switch transaction.moments.last?.event {
            case .redirect, .finished, .failed: return transaction
            case .interim, .response, .data, .trailers, .interrupted, nil: return nil
            }
        }
    }

    /// Ignores all events from now on.
    func stop() { state.withLock { $0.isStopped = true } }

    /// The number of further body bytes that the record can hold.
    var remainingCapacity: Int { state.withLock { max(0, Transaction.maximumBodySize - $0.recordedByteCount) } }

    func append(_ event: Transaction.Event) {
        let time = clock.now - start
        state.withLock { state in
            if state.isStopped { return }
            if case .data(let recordedBytes, _) = event { state.recordedByteCount += recordedBytes.count }
            guard state.transaction.moments.count >= Transaction.maximumEventCount else { return state.transaction.append(event, at: time) }
            switch event {
            case .data(let recordedBytes, let count): state.transaction.appendToLastData(recordedBytes, count: count, at: time)
            case .redirect, .trailers, .finished, .failed, .interrupted: state.transaction.append(event, at: time)
            case .interim, .response:
                // For example the parts of an endless multipart response.
                state.transaction.append(.interrupted("it has more than \(Transaction.maximumEventCount) events"), at: time)
                state.isStopped = true
            }
        }
    }

    func measure(_ change: (inout LoadMetrics, Duration) -> Void) {
        let time = clock.now - start
        state.withLock { change(&$0.metrics, time) }
    }
}

extension Transaction {
    /// Appends body bytes to the last event if that is a piece of body, so that the number of events has a limit.
    /// Otherwise adds an event.
    fileprivate mutating func appendToLastData(_ bytes: [UInt8], count: Int, at time: Duration) {
        guard case .data(var recordedBytes, let sum)? = moments.last?.event, let first = moments.popLast()?.time else {
            return append(.data(bytes, count: count), at: time)
        }
        recordedBytes += bytes
        append(.data(recordedBytes, count: sum + count), at: first)
    }
}

/// Records the events of a load, and forwards them.
final class TransactionRecorder: ForwardingClient {
    let next: any ProtocolClient
    private let record: TransactionRecord

    init(_ record: TransactionRecord, next: any ProtocolClient) { (self.record, self.next) = (record, next) }

    func wasRedirected(to request: Request, redirectResponse: Response) -> Flow {
        record.append(.redirect(to: request.url, redirectResponse))
        return next.wasRedirected(to: request, redirectResponse: redirectResponse)
    }

    func didReceiveInterim(_ response: Response) {
        record.append(.interim(response))
        next.didReceiveInterim(response)
    }

    func didReceive(_ response: Response, storage: CacheStoragePolicy) -> Flow {
        record.append(.response(response))
        return next.didReceive(response, storage: storage)
    }

    func didLoad(_ bytes: borrowing RawSpan) -> Flow {
        let remainingCapacity = record.remainingCapacity
        let recordedBytes = unsafe bytes.withUnsafeBytes { unsafe Array($0.prefix(remainingCapacity)) }
        record.append(.data(recordedBytes, count: bytes.byteCount))
        return next.didLoad(bytes)
    }

    func didReceiveTrailers(_ fields: HTTPFields) {
        record.append(.trailers(fields))
        next.didReceiveTrailers(fields)
    }

    func didReach(_ step: LoadStep) {
        record.measure { $0.recordStep(step, at: $1) }
        next.didReach(step)
    }

    func didTransfer(_ report: TransferReport) {
        record.measure { $0.recordTransfer(report, at: $1) }
        next.didTransfer(report)
    }

    func didFinishLoading() {
        record.append(.finished)
        next.didFinishLoading()
    }

    func didFail(with error: LoadError) {
        record.append(.failed(error))
        next.didFail(with: error)
    }
}
