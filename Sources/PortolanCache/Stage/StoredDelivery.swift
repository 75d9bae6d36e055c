// SPDX-License-Identifier: Apache-2.0

import HTTPTypes
import PortolanCore
import Synchronization

/// Delivers a stored response, or a part of one, to a client. It pauses and stops when the client requests that.
final class StoredDelivery: Sendable {
    /// What is delivered, in the order of the members.
    struct Content: Sendable {
        /// The request to which `head` redirects, if it does.
        var redirect: Request?
        /// `nil` if the head was already delivered.
        var head: Response?
        /// The octets; `nil` for a response without a body.
        var part: StoredPart?
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
        var isHeadPending: Bool
        var deliveredCount: Int64 = 0
        /// Octets that were read, and wait for a client that paused at the head.
        var held: [UInt8]?
    }

    /// The largest number of octets in one call of the client.
    private static let pieceLimit = 256 << 10

    private let content: Content
    private let client: any ProtocolClient
    private let reader: (any CacheBodyReader)?
    private let onEnd: @Sendable (StoredDelivery, End) -> Void
    private let calls = SerialCalls()
    private let state: Mutex<State>

    /// - Parameter onEnd: called once, unless ``stop()`` came first. It reports the end to the client.
    init(_ content: Content, to client: any ProtocolClient, onEnd: @escaping @Sendable (StoredDelivery, End) -> Void) {
        (self.content, self.client, self.onEnd) = (content, client, onEnd)
        reader = content.part.flatMap { $0.range.isEmpty ? nil : $0.entry.body.makeReader(of: $0.range) }
        state = Mutex(State(isHeadPending: content.head != nil))
    }

    deinit { reader?.close() }

    /// Whether the client has received nothing yet.
    var hasDeliveredNothing: Bool { state.withLock { $0.isHeadPending } }
    /// The octets that the client has not received; `nil` for a response without a body.
    var missingPart: StoredPart? { content.part.map { $0.dropping(state.withLock { $0.deliveredCount }) } }

    func start() { calls.submit(.start, perform: perform) }
    func resume() { calls.submit(.resume, perform: perform) }
    /// Stops the delivery. An event that another thread is about to deliver can still come.
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

    /// Delivers the head, unless it was delivered before.
    private func deliverHead() -> Flow {
        guard let head = content.head,
            state.withLock({ state in
                defer { state.isHeadPending = false }
                return state.isHeadPending
            })
        else { return .keepGoing }
        return client.didReceive(head, storage: .allowed)
    }

    private func deliverBody() {
        guard let reader else { return finish(after: deliverHead()) }
        var held = state.withLock { $0.held.take() }
        while !state.withLock({ $0.isStopped }) {
            var flow = Flow.keepGoing
            var result = BodyRead.bytes
            if let octets = held.take() {
                let span = octets.span
                flow = unsafe deliver(span.bytes)
            } else {
                result = reader.read(atMost: Self.pieceLimit) { bytes in
                    flow = deliverHead()
                    if flow == .keepGoing { flow = deliver(bytes) } else { hold([UInt8](copying: bytes)) }
                } whenReady: { [self] in
                    resume()
                }
            }
            switch (result, flow) {
            case (.bytes, .keepGoing): break
            case (.bytes, .pause), (.wait, _): return
            case (.bytes, .stopped): return end(.stopped)
            case (.end, _): return finish(after: deliverHead())
            case (.failed(let error), _): return end(.failed(error))
            }
        }
    }

    private func deliver(_ bytes: borrowing RawSpan) -> Flow {
        let count = Int64(bytes.byteCount)
        state.withLock { $0.deliveredCount += count }
        return client.didLoad(bytes)
    }

    /// Keeps octets that were read, because the client paused at the head.
    private func hold(_ octets: [UInt8]) { state.withLock { $0.held = octets } }

    /// - Parameter flow: the client's answer to the head.
    private func finish(after flow: Flow) {
        switch flow {
        case .keepGoing: finish()
        case .pause: break
        case .stopped: end(.stopped)
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
        if isFirst { onEnd(self, end) }
    }
}
