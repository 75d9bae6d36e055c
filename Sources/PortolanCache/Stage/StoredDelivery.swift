// SPDX-License-Identifier: Apache-2.0

import HTTPTypes
import PortolanCore
import Synchronization

/// Delivers a stored response, or octets of one, to a client. It pauses and stops when the client requests that.
final class StoredDelivery: Sendable {
    /// What is delivered, in the order of the members.
    struct Content: Sendable {
        /// The request to which `head` redirects, if it does.
        var redirect: Request?
        /// `nil` if the head was already delivered.
        var head: Response?
        /// `nil` for a response without a body.
        var reader: (any CacheBodyReader)?
        var trailers: HTTPFields?
        /// Whether the body of a redirect is stored. It is delivered only if the client declines the redirect.
        var hasBody = true
    }

    /// How a delivery ends.
    enum End: Sendable {
        case complete
        /// The client declined a redirect, and the body of its response is not stored.
        case redirectDeclined
        /// The octets can't be read.
        case failed(LoadError)
        /// The client wants nothing more: it follows a redirect, or cancels.
        case stopped
    }

    private struct State {
        var isStopped = false
        /// Whether the delivery waits for the decision about the redirect.
        var awaitsDecision = false
        /// Whether the head must still be delivered. It waits for the first octets, so that a load can begin again
        /// without a damaged entry.
        var hasHead: Bool
    }

    /// The largest number of octets in one delivery.
    private static let pieceLimit = 256 << 10

    private let content: Content
    private let client: any ProtocolClient
    private let onEnd: @Sendable (End) -> Void
    private let calls = SerialCalls()
    private let state: Mutex<State>

    /// - Parameter onEnd: called once, unless ``stop()`` came first. It reports the end to the client.
    init(_ content: Content, to client: any ProtocolClient, onEnd: @escaping @Sendable (End) -> Void) {
        (self.content, self.client, self.onEnd) = (content, client, onEnd)
        state = Mutex(State(hasHead: content.head != nil))
    }

    deinit { content.reader?.close() }

    /// Whether the client has received nothing yet.
    var hasDeliveredNothing: Bool { state.withLock { $0.hasHead } }

    func start() { calls.submit(.start, perform: perform) }
    func resume() { calls.submit(.resume, perform: perform) }
    /// An event that another thread is about to deliver can still come.
    func stop() { state.withLock { $0.isStopped = true } }

    private func perform(_ call: SerialCalls.Call) {
        if call == .start { return begin() }
        let isDeclined = state.withLock { state in
            defer { state.awaitsDecision = false }
            return state.awaitsDecision
        }
        if isDeclined { redirectWasDeclined() } else { deliverBody() }
    }

    private func begin() {
        guard let redirect = content.redirect, let head = content.head else { return deliverBody() }
        state.withLock { $0.awaitsDecision = true }
        switch client.wasRedirected(to: redirect, redirectResponse: head) {
        case .stopped: end(.stopped)
        case .pause: break
        case .keepGoing:
            state.withLock { $0.awaitsDecision = false }
            redirectWasDeclined()
        }
    }

    private func redirectWasDeclined() {
        if content.hasBody { deliverBody() } else { end(.redirectDeclined) }
    }

    /// - Returns: whether the body can follow now.
    private func deliverHead() -> Bool {
        guard let head = content.head,
            state.withLock({ state in
                defer { state.hasHead = false }
                return state.hasHead
            })
        else { return true }
        switch client.didReceive(head, storage: .allowed) {
        case .keepGoing: return true
        case .pause: return false
        case .stopped:
            end(.stopped)
            return false
        }
    }

    private func deliverBody() {
        guard deliverHead() else { return }
        guard let reader = content.reader else { return finish() }
        while !state.withLock({ $0.isStopped }) {
            var flow = Flow.keepGoing
            let result = reader.read(atMost: Self.pieceLimit) {
                flow = client.didLoad($0)
            } whenReady: { [self] in
                resume()
            }
            switch (result, flow) {
            case (.bytes, .keepGoing): break
            case (.bytes, .pause), (.wait, _): return
            case (.bytes, .stopped): return end(.stopped)
            case (.end, _): return finish()
            case (.failed(let error), _): return end(.failed(error))
            }
        }
    }

    private func finish() {
        if let trailers = content.trailers { client.didReceiveTrailers(trailers) }
        end(.complete)
    }

    private func end(_ end: End) {
        let isFirst = state.withLock { state in
            defer { state.isStopped = true }
            return !state.isStopped
        }
        if isFirst { onEnd(end) }
    }
}
