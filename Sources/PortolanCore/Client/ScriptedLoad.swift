// SPDX-License-Identifier: Apache-2.0

import Synchronization

/// A load whose events are known beforehand: reports them in order, and waits and stops where its client says so.
///
/// Enough for a handler that makes its answer at once:
///
///     ScriptedLoad([.response(Response(url: request.url)), .data(bytes), .finish], client: client)
public final class ScriptedLoad: ProtocolLoad {
    public enum Event: Sendable {
        /// Where the client does not take it, the next event follows.
        case redirect(to: Request, Response)
        case response(Response)
        case data([UInt8])
        case finish
        case failure(LoadError)
    }

    private let events: [Event]
    private let client: any ProtocolClient
    private let turns = LoadTurns()
    /// The index of the event that comes next.
    private let next = Mutex(0)

    public init(_ events: [Event], client: any ProtocolClient) {
        self.events = events
        self.client = client
    }

    public func startLoading() { turns.take(.start) { _ in play() } }
    public func resumeLoading() { turns.take(.resume) { _ in play() } }
    public func stopLoading() { next.withLock { $0 = events.count } }

    private func play() {
        var flow = Flow.keepGoing
        while flow == .keepGoing, let event = takeEvent() { flow = report(event) }
        if flow == .stopped { stopLoading() }
    }

    private func takeEvent() -> Event? {
        next.withLock { next in
            guard next < events.count else { return nil }
            defer { next += 1 }
            return events[next]
        }
    }

    private func report(_ event: Event) -> Flow {
        switch event {
        case .redirect(let request, let response):
            return client.wasRedirected(to: request, redirectResponse: response)
        case .response(let response):
            return client.didReceive(response, storage: .notAllowed)
        case .data(let bytes):
            let span = bytes.span
            return unsafe client.didLoad(span.bytes)
        case .finish:
            client.didFinishLoading()
        case .failure(let error):
            client.didFail(with: error)
        }
        return .stopped
    }
}
