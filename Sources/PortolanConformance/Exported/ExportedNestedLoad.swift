// SPDX-License-Identifier: Apache-2.0

import PortolanCore

/// A nested load of a handler of this process. The runner loads the whole resource first, and then delivers its events.
final class ExportedNestedLoad: ProtocolLoad {
    private let request: Request
    private let client: any ProtocolClient
    private let nestedLoads: NestedLoadCache
    private let state = ConditionLock(State())

    private struct State {
        var isStopped = false
        var isPaused = false
        /// Whether the load was resumed during a delivery, before that delivery returned a pause.
        var wasResumedInDelivery = false
        /// The events that remain to be delivered.
        var pendingEvents: [@Sendable (any ProtocolClient) -> Flow] = []
        var isDelivering = false
    }

    init(_ request: Request, _ client: any ProtocolClient, by nestedLoads: NestedLoadCache) {
        (self.request, self.client, self.nestedLoads) = (request, client, nestedLoads)
    }

    func startLoading() {
        nestedLoads.load(request) { [self] outcome in
            state.withLock { $0.pendingEvents = Self.pendingEvents(for: outcome) }
            deliverPendingEvents()
        }
    }

    func stopLoading() { state.withLock { $0.isStopped = true } }

    func resumeLoading() {
        state.withLock { if $0.isDelivering { $0.wasResumedInDelivery = true } else { $0.isPaused = false } }
        deliverPendingEvents()
    }

    private static func pendingEvents(for outcome: NestedLoadCache.Outcome) -> [@Sendable (any ProtocolClient) -> Flow] {
        switch outcome {
        case .success((let data, let response)):
            let bytes = Array(data)
            return [
                { $0.didReceive(response, storage: .notAllowed) },
                { unsafe bytes.isEmpty ? .keepGoing : $0.didLoad(bytes.span.bytes) },
                {
                    $0.didFinishLoading()
                    return .stopped
                },
            ]
        case .failure(let error):
            return [
                {
                    $0.didFail(with: error)
                    return .stopped
                }
            ]
        }
    }

    /// One thread delivers at a time. It also handles a resume that comes during a delivery.
    private func deliverPendingEvents() {
        while let deliverEvent = nextEvent() {
            let flow = deliverEvent(client)
            state.withLock { state in
                state.isDelivering = false
                if flow == .pause { state.isPaused = !state.wasResumedInDelivery }
                state.wasResumedInDelivery = false
                if flow == .stopped { state.isStopped = true }
            }
        }
    }

    private func nextEvent() -> (@Sendable (any ProtocolClient) -> Flow)? {
        state.withLock { state in
            guard !state.isStopped, !state.isPaused, !state.isDelivering, !state.pendingEvents.isEmpty else { return nil }
            state.isDelivering = true
            return state.pendingEvents.removeFirst()
        }
    }
}
