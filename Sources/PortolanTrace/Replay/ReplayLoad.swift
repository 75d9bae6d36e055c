// SPDX-License-Identifier: Apache-2.0

import PortolanCore
import Synchronization

/// The source of a response.
enum ReplayedLoad {
    /// The load sends recorded events, or an error.
    case played(any ProtocolLoad)
    /// The next handler serves the request, and its events are recorded.
    case recorded(any ProtocolLoad, TransactionRecord)
}

/// A load of a ``ReplayHandler``. It selects the response when it starts, as soon as the request's body is known.
final class ReplayLoad: ProtocolLoad {
    private struct State {
        var load: (any ProtocolLoad)?
        var record: TransactionRecord?
        var isStopped = false
    }

    private let request: Request
    private let handler: ReplayHandler
    private let client: any ProtocolClient
    private let state = Mutex(State())

    init(_ request: Request, handler: ReplayHandler, client: any ProtocolClient) {
        (self.request, self.handler, self.client) = (request, handler, client)
    }

    func startLoading() {
        guard let body = request.body else { return start(sending: .bytes([])) }
        guard handler.needsBody(of: request) else { return start(sending: .unread(length: body.length)) }
        BodyCollector.collect(request.body) { [self] sent in start(sending: sent) }
    }

    func stopLoading() {
        let (load, record) = state.withLock { state in
            state.isStopped = true
            return (state.load.take(), state.record.take())
        }
        if let record { drop(record) }
        load?.stopLoading()
    }

    func resumeLoading() { state.withLock { $0.load }?.resumeLoading() }

    private func start(sending sent: SentBody) {
        guard !state.withLock({ $0.isStopped }) else { return }
        let load: any ProtocolLoad
        var record: TransactionRecord?
        switch handler.load(for: request, sending: sent, client: client) {
        case .played(let scriptedLoad): load = scriptedLoad
        case .recorded(let nextLoad, let newRecord): (load, record) = (nextLoad, newRecord)
        }
        let starts = state.withLock { state in
            if !state.isStopped { (state.load, state.record) = (load, record) }
            return !state.isStopped
        }
        if starts { load.startLoading() } else if let record { drop(record) }
    }

    private func drop(_ record: TransactionRecord) {
        record.stop()
        handler.drop(record)
    }
}
